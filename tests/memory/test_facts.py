import pytest

from hindsight.memory.facts import Fact, facts_of

STATED = [
    ("My dentist is Dr. Hale, by the way.", "user/dentist", "dr. hale", "fact", ""),
    ("I moved to Bergen last month.", "user/home", "bergen", "fact", "explicit"),
    ("I live in Oslo.", "user/home", "oslo", "fact", ""),
    ("My sister lives in Oslo.", "sister/home", "oslo", "fact", ""),
    ("My mum's birthday is May 3.", "mother/birthday", "may 3", "fact", ""),
    ("My wife works at Siemens.", "wife/work", "siemens", "fact", ""),
    ("I work as a nurse.", "user/job", "nurse", "fact", ""),
    ("I think my account number is 4711.", "user/account number", "4711", "guess", ""),
    ("My phone number changed to 555-1234.", "user/phone number", "555-1234", "fact", "explicit"),
    ("Actually, my gate code is 8841, not 8814.", "user/gate code", "8841", "fact", "explicit"),
    ("My new address is 12 Elm Street now.", "user/address", "12 elm street", "fact", "explicit"),
    ("I'm allergic to peanuts.", "user/allergy", "peanuts", "preference", ""),
    ("Call me Sam.", "user/name", "sam", "fact", ""),
    ("I love hiking.", "user/likes", "hiking", "preference", ""),
    ("I can't stand cilantro.", "user/dislikes", "cilantro", "preference", ""),
    ("My email is a.b@example.com.", "user/email", "a.b@example.com", "fact", ""),
    ("My budget is 1,200 euros.", "user/budget", "1,200 euros", "fact", ""),
    ("My favourite colour is no longer green.", "user/favourit colour", "", "fact", "withdrawn"),
    ("I don't live in Oslo any more.", "user/home", "", "fact", "withdrawn"),
    ("我住在苏州。", "user/home", "苏州", "fact", ""),
    ("我搬到了杭州。", "user/home", "杭州", "fact", ""),
    ("我妈妈对花生过敏。", "妈妈/allergy", "花生", "preference", ""),
    ("我现在在腾讯上班了。", "user/work", "腾讯", "fact", "explicit"),
    ("我的航班改成了CA123了。", "user/航班", "ca123", "fact", "explicit"),
    ("我叫李雷。", "user/name", "李雷", "fact", ""),
    ("我的邮箱是abc@x.com", "user/邮箱", "abc@x.com", "fact", ""),
    ("我很喜欢爬山。", "user/likes", "爬山", "preference", ""),
]


@pytest.mark.parametrize(("text", "about", "value", "kind", "change"), STATED, ids=[one[0] for one in STATED])
def test_what_is_stated(text, about, value, kind, change):
    assert facts_of(text) == [Fact(about, value, kind, change)]


SILENT = [
    "Is my dentist Dr. Hale?",
    "If my flight is BA 12, wake me.",
    "I wish I lived in Oslo.",
    "I used to live in Oslo.",
    "She said my dentist is Dr. Hale.",
    "Imagine my name is Bond.",
    "My hands are wet.",
    "My lunch is waiting.",
    "My point is that it works.",
    "my boss is so annoying",
    "My memory is a sieve.",
    "My battery is dying.",
    "My dentist is not Dr. Hale.",
    "Would my PIN be 1234?",
    "For example, my PIN is 1234.",
    "I would love to go to Oslo.",
    'He wrote "my code is 1234".',
    "My week has been long.",
    "Your dentist is Dr. Hale.",
    "The code is 1234.",
    "I want to move to Bergen.",
    "My biggest problem is Monday.",
    "如果我住在苏州就好了",
    "我的密码是1234吗？",
    "听说我的航班是CA1。",
    "我的意思是明天再说",
    "我想要住在苏州",
    "帮我叫快递寄过来。",
    "又是我，我在家上班",
    "我说的是我，不是彭飞",
    "",
    "...",
    "Thanks!",
]


@pytest.mark.parametrize("text", SILENT)
def test_what_states_nothing(text):
    assert facts_of(text) == []


def test_several_at_once():
    found = facts_of("My dentist is Dr. Hale and I live in Oslo. My sister works at Equinor.")
    assert {one.about for one in found} >= {"user/dentist", "sister/work"}
    assert all(one.value != "dr. hale and i live in oslo" for one in found)
