"""What people say when they want, thank, confirm, correct or complain: one table for English and Chinese, and its reading.

Cues, not understanding: where two of them disagree, or where a line may be sarcasm, the outcome stays unknown. To teach
another language, add its words to the table.

English phrases are separated by ``;``. In a phrase ``a/b`` is either word, ``[a/b]`` either or none, ``_`` any one word and
``...`` up to three that neither negate nor end a clause. They are looked up in one walk over the words, so that a cue more costs
no time. Chinese is a regular expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

from hindsight.text import QUESTION_MARKS, terms

TABLE: dict[str, tuple[str, str]] = {
    # What the user says of what came before
    "greeting": ("hi; hello; hey; good morning/afternoon/evening", "你好|您好|早上好|下午好|晚上好"),
    "thanks": ("thanks; thank you/u; thx; ty; cheers; appreciate/appreciated; grateful", "谢谢|多谢|感谢|谢啦|辛苦了"),
    "praise": (
        "great; good; perfect; nice; awesome; cool; fine; excellent; wonderful; amazing; brilliant; lovely; super; "
        "fantastic; love it/that; it/that works/work; works for me; exactly; suits; ok; okay; alright; all right; got it; "
        "i see; correct; right",
        "好的|很好|太好了|不错|可以|行|棒|完美|没问题|正好|收到|明白了|知道了|嗯",
    ),
    "solved": (
        "that/it/this/you/which [has/have] [just] fixed/solved/resolved it/that/the; that's fixed/solved; did it; do the "
        "trick; did the trick; works now/again/perfectly; it's/is/everything's working; working now/again; problem/issue "
        "solved; all/is/it's fixed; what i needed; what i wanted; what i was looking; test/tests [now] "
        "pass/passes/passing",
        "搞定|解决了|修好了|好用了|能用了|成功了|正是我",
    ),
    "done": (
        "that/that's/thats/that'll/that'd/this [is/was/will/would] [be] all/it/everything; all i need/needed/want/wanted; "
        "all for now; all set; nothing else/more; no [,] thanks; no [,] thank; not right now; not now; not at the moment; "
        "no more; i'm/im [am] good/done; bye; goodbye; good night; see you",
        "就这样|就这些|没有了|没了|不用了|不需要了|再见|拜拜|没别的",
    ),
    "correction": (
        "no [,] i meant/said; not that/this/what; not the one; that's/that/this [is/was] not [what/right]; that "
        "isn't/wasn't; that's/you're wrong; that is/was wrong; you are wrong; incorrect; i meant/said; actually; instead; "
        "rather; wait; scrap that; change it/that/the",
        "不对|不是|错了|搞错|弄错|应该是|改成|换成|我是说|我说的是|不要这",
    ),
    "complaint": (
        "still/again not/broken/failing/fails/fail/wrong/doesn't/isn't/won't/can't/get/getting/see/seeing; still the "
        "same; still does not; doesn't/didn't/don't/isn't/wasn't/won't work/help/working/fixed/compile/run; "
        "does/did/do/is not work/help/working/fixed; useless; that's/that/it's/it/this [is] broken/worse/useless; made it "
        "worse; broke it/the; never worked/arrived/came",
        "还是不行|不行|没用|没有用|还是报错|又报错|坏了|不管用|没解决|更糟",
    ),
    "sarcasm": (
        "oh sure/great/wonderful/perfect/brilliant/fantastic; yeah [,] right; for nothing; how helpful; just "
        "love/great/perfect; as if; big surprise; slow clap",
        "呵呵|真行啊|可真好",
    ),
    "anyway": ("thanks/you [for] [the] anyway/trying/effort/try; thanks all the same", "还是谢谢|白忙"),
    # What makes a turn a request
    "want": (
        "i/we/i'd/we'd/id [would/really/also/just/now/then] [_] want/need/like/wish/love/wanna; i'd; i'm/im/i [am] "
        "[also/now] looking/searching/hoping/trying/planning; interested in; in need of",
        "想要?|我要|需要|打算|希望|准备",
    ),
    "ask": (
        "can/could/would/will you/u/we/i; please; pls; let's; help me/us; for me; me a/an/some/the; how do/can/should "
        "i/we; should/shall/may i/we",
        "帮我|帮忙|请|麻烦|能不能|能否|可以帮|可不可以|给我|告诉我|怎么|如何",
    ),
    "verb": ("", "找|订|查|买|推荐|安排|介绍|搜|预约|叫车|写|改|做|看看|翻译|解释|提醒|去"),
    "question": ("?", "？|吗|呢|哪|什么|多少|有没有|是不是|几点"),
    "problem": (
        "won't; doesn't; isn't working; is/are broken; keeps/keep crashing/failing/freezing/saying/showing/getting; "
        "crash; crashes; crashed; error; errors; bug; stuck; problem; issue; trouble; can't; cannot; failing; fails; lost "
        "my; missing",
        "坏了|报错|出错|失败|不能|无法|打不开|问题|丢了|卡住",
    ),
    "phatic": (
        "how is/are/have/was you/it/things/life/everything/your; how's/how've you/it/things/life/everything/your; how do "
        "you do; what's up/new; what is up/new; nice to meet; and you",
        "你好吗|最近怎么样|吃了吗|在吗|近来可好",
    ),
    # Whether a request begins a new goal
    "also": (
        "also; as well; too; next; then; additionally; by the way; btw; one more thing; another thing; separately; now",
        "还|另外|顺便|对了|然后|之后|接着|再",
    ),
    "back": ("they; their; them; it; its; it's; this; these; those; does", "它|他们|这个|那个|这家|那家|这里|那里|该"),
    "alternative": (
        "other; others; else; another; instead; actually; change; different; any more; alternative/alternatives; "
        "option/options; rather; again; correct",
        "别的|其他|换|改|另一|还有(?:没有|吗|哪)|重新|再.?[一来]",
    ),
    "attribute": (
        "address; phone; number; cost; costs; price; rating; ratings; how much/long/many/far; what time; name; total; "
        "contact; located; station; airport",
        "地址|电话|价格|价钱|多少钱|评分|号码|几点|门票|名字|营业时间|周边|车牌|车型|推荐菜|设施|人均|多久|多远",
    ),
    "indefinite": ("a; an; some; any", "一[个家张份部辆间条顿]|找个|找家|个.{0,16}的"),
    "there": ("there", ""),
    # The assistant's side
    "more": (
        "anything/something/what/any/thing else/more; further; can/could/may i [also] help/assist; be of help; else i can; "
        "any other/more/further questions; feel free; let me know if",
        "还有什么|还需要|其他需要|别的需要",
    ),
    "offer": ("would/do you like/want; shall/should/can/may i; want me to", "需要我|要不要|要我"),
    "confirm": (
        "please confirm/verify/approve/check; just/to/need confirm; confirm/confirming/verify "
        "that/the/this/your/these/following; confirming; is/are that/this/these/everything right/correct/ok/okay; is it "
        "right/correct; correct ?",
        "请确认|对吗|是吗",
    ),
    "success": (
        "has/have/is/are/was/were/now/get/got/all/successfully/it's/i've/you're/i/we've/we/just ... "
        "booked/reserved/purchased/bought/scheduled/confirmed/complete/completed/sent/added/created/fixed/transferred/"
        "cancelled/canceled/updated/saved/made/ordered/placed/rented/processed/refunded/resolved/finished/started/"
        "installed/deployed/merged/submitted/paid/done; "
        "all set; is/are set; was/were/been able to; managed to; reservation/booking/order/"
        "purchase/payment/transfer [is/was] complete/completed/successful/confirmed; successful; successfully",
        "已(?:经)?(?:为您|帮您|给您|成功)?(?:预订|预定|订好|完成|取消|发送|添加|修复|购买|下单|更新|安排|解决|办理)|成功|搞定了|办好了",
    ),
    "failure": (
        "unable to; could/was/were/am/did/can not [be] "
        "able/complete/completed/book/booked/make/made/reserve/reserved/find/purchase/purchased/get/schedule/scheduled/"
        "process/processed/place/go/add/set/do/buy/confirm/send/work/open/access; "
        "couldn't; can't/cannot/wasn't/weren't/didn't [be] "
        "able/complete/completed/book/booked/make/made/reserve/reserved/find/purchase/get/schedule/scheduled/process/"
        "place/go/add/set/do/buy/confirm/send/work/open/access; fail to; failed; fails; failure; went wrong; "
        "an/the/some/encountered error/issue/problem; not possible/successful; unsuccessful; no/nothing ... available; "
        "is/are/was/were [all] full/unavailable; sold out",
        "失败|无法|不能|没能|出错|报错|订不到|没有成功|未能",
    ),
    "apology": ("sorry; unfortunately; afraid; apologise/apologize/apologies; regret", "抱歉|对不起|不好意思|遗憾"),
}  # fmt: skip
_STARTS: dict[str, tuple[frozenset[str], re.Pattern[str]]] = {
    "yes": (
        frozenset("yes yeah yep yup sure ok okay please definitely absolutely".split()),
        re.compile("好|行|可以|是|对|要|嗯"),
    ),
    "no": (frozenset("no nope nah not never don't".split()), re.compile("不|没")),
    "wh": (
        frozenset("what which where when who why how is are does do did any what's where's when's how's".split()),
        re.compile("(?!)"),
    ),
}
_VERBS = frozenset(
    """find search book reserve get buy check show look schedule order play add set plan make create write fix help explain
    transfer purchase watch rent recommend suggest list send give cancel visit go stay eat use remind update move build run
    summarise summarize translate teach draft compare calculate debug install pay call delete remove review prepare practise
    practice start open change return need want put rename refactor test deploy""".split()
)
_BEFORE_VERB = frozenset(". , ! ? ; : and to please also you now then just let's me we i us".split())
_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)*|[.,!?;:]")
_FILLERS = frozenset("and so ok okay well but then , great thanks".split())
_BARRIERS = frozenset(". , ! ? ; : not be to never don't didn't haven't hasn't isn't wasn't".split())
_LETTERS = 2000  # of a text that are read for cues

# Stems that say "do it" and not what: alone they are no goal, and they make no request new.
_ACTS = frozenset(
    "find search look book reserv get buy check show see schedul order need want help tell give make know pleas ticket appoint "
    "on one some someth anyth interest like also then now okay ok sure let us go".split()
)
_CLAUSE = re.compile(r".+?(?:[.!?;,]+(?=\s|$)\s*|[。！？；，]+\s*|\s+(?=but\b)|$)", re.S)
_FEEDBACK = frozenset("greeting thanks praise solved done correction complaint sarcasm anyway yes no".split())
_REQUEST = frozenset("want ask verb question wh problem".split())
_ASKING = frozenset("question want ask verb".split())
_LONGEST = 8, 60  # words and letters of a clause that only gives feedback


def _phrases(line: str) -> Iterator[tuple[str, ...]]:
    for phrase in filter(str.strip, line.split(";")):
        slots = [[*slot.strip("[]").split("/"), *[""] * slot.startswith("[")] for slot in phrase.split()]
        yield from {tuple(word for word in choice if word) for choice in product(*slots)}


def _trie() -> dict[str, Any]:
    """Word -> the words that may follow, and under "" the cues of the phrases that end here."""
    root: dict[str, Any] = {}
    for cue, (line, _) in TABLE.items():
        for phrase in _phrases(line):
            node = root
            for word in phrase:
                node = node.setdefault(word, {})
            node.setdefault("", set()).add(cue)
    return root


_TRIE = _trie()
_CHINESE = {cue: re.compile(chinese) for cue, (_, chinese) in TABLE.items() if chinese}


def _walk(tokens: list[str], place: int, node: dict[str, Any], found: set[str]) -> None:
    found |= node.get("", frozenset())
    if place < len(tokens):
        if tokens[place] in node:
            _walk(tokens, place + 1, node[tokens[place]], found)
        if "_" in node and tokens[place] not in _BARRIERS:
            _walk(tokens, place + 1, node["_"], found)
        for ahead in range(place, min(place + 4, len(tokens)) if "..." in node else place):
            if tokens[ahead] in node["..."]:
                _walk(tokens, ahead + 1, node["..."][tokens[ahead]], found)
            if tokens[ahead] in _BARRIERS:
                break


@lru_cache(maxsize=8192)
def cues_of(text: str) -> frozenset[str]:
    """The cues that stand in (the first 2,000 letters of) a text.

    >>> sorted(cues_of("Thanks, but it still doesn't work"))
    ['back', 'complaint', 'problem', 'thanks']
    """
    text = text[:_LETTERS].replace("’", "'")
    tokens = _TOKEN.findall(text.lower())
    found: set[str] = set()
    for place, token in enumerate(tokens):
        if token in _TRIE:
            _walk(tokens, place + 1, _TRIE[token], found)
        if token in _VERBS and (place == 0 or tokens[place - 1] in _BEFORE_VERB):
            found.add("verb")
    first = next((token for token in tokens if token not in _FILLERS), "")
    found.update(cue for cue, (starts, _) in _STARTS.items() if {first, *tokens[:1]} & starts)
    if not text.isascii():
        found.update(cue for cue, pattern in _CHINESE.items() if pattern.search(text))
        found.update(cue for cue, (_, starts) in _STARTS.items() if starts.match(text.lstrip()))
    return frozenset(found)


def asks(text: str) -> bool:
    """Ends with a question, or wants something confirmed."""
    end = max(map(text.rfind, QUESTION_MARKS))
    return 0 <= end >= len(text) - 40 or "confirm" in cues_of(text) or text.rstrip("。. ").endswith(("吗", "呢"))


def topic_of(text: str) -> frozenset[str]:
    """The terms of a text that say what it is about."""
    return frozenset(terms(text)) - _ACTS


@dataclass(frozen=True, slots=True)
class Heard:
    """One user turn, read: ``feedback`` on what came before, with its ``cues``, and the ``rest``: a request or a detail."""

    feedback: str
    rest: str
    cues: frozenset[str]
    request: bool


@lru_cache(maxsize=4096)
def hear(text: str) -> Heard:
    """Splits off the short clauses in front that only greet, thank, praise, confirm, correct or complain.

    >>> hear("Thanks a lot. I will also need a place to stay.").rest
    'I will also need a place to stay.'
    """
    end = 0
    for clause in _CLAUSE.finditer(text):
        if not _only_feedback(clause[0]):
            break
        end = clause.end()
    feedback, rest = text[:end].strip(), text[end:].strip()
    of_rest = cues_of(rest)
    cues = cues_of(feedback) & _FEEDBACK | of_rest & {"solved", "correction", "complaint", "sarcasm", "anyway"}
    phatic = "phatic" in of_rest and of_rest & _REQUEST <= {"question", "wh"}
    return Heard(feedback, rest, cues, bool(of_rest & _REQUEST and not phatic and topic_of(rest)))


def _only_feedback(clause: str) -> bool:
    if len(clause) > _LONGEST[1] or clause.count(" ") > _LONGEST[0]:
        return False
    cues = cues_of(clause)
    return bool(cues & _FEEDBACK) and ("done" in cues or not cues & _ASKING)
