"""Makes the bundled logs: people with goals over weeks, and what their later turns used of the earlier ones.

Three layers, their content written out in ``en/`` and ``zh/``: *plots* (a goal that moves over three or four sessions),
*facts* (what a person tells early and needs later, with updates, retractions and look-alikes), and small talk. ``story``
weaves them into sessions and writes down, while it does, which turn first carried each value and which turn uses it.
"""

SEED = 20240513
