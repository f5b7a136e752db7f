"""Makes the logs of ``suite=agent_tasks``: agents at work over days, and the earlier turns that a later act needs (SYSTEMS: system R).

Three tasks: a long *report* whose numbers came out of tool calls on earlier days; a new project *similar* to an old one and told in
other words; *errors* that were made and mended once, and must not be made again. ``content/`` has the words, apart for each split;
``log.py`` writes a round's log and its gold; ``rounds.py`` tells the three tasks.
"""

SEED = 20261201
ROUNDS = 20
TASKS = ("report", "similar", "errors")
