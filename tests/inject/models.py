"""Tiny decoders of every family with random weights, sharp enough for attention to matter, and a padded batch with spans."""

from functools import cache

import torch

VOCABULARY = 97
TOKENS, PAD = 30, 7  # the second row has PAD tokens of padding on its left
WINDOW = 12
SPANS = [[(2, 8), (8, 13), (13, 20)], [(PAD + 2, PAD + 7), (PAD + 7, PAD + 11), (PAD + 11, PAD + 15)]]
LOGITS = [[1.5, -2.0, 0.7]] * 2
FAMILIES = ["llama", "qwen2", "qwen3", "mistral", "gemma2", "gemma3", "gpt_neox", "gpt2"]
PAIRS = [
    (family, backend) for family in FAMILIES for backend in ("eager", "sdpa") if (family, backend) != ("gemma2", "sdpa")
]


def config_of(family: str, **changed):
    import transformers as t

    ids = {"vocab_size": VOCABULARY, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": None}
    wide = {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 3, "num_attention_heads": 4}
    shared = {**ids, **wide, "num_key_value_heads": 2}
    config = {
        "llama": lambda: t.LlamaConfig(**shared),
        "qwen2": lambda: t.Qwen2Config(**shared),
        "qwen3": lambda: t.Qwen3Config(**shared, head_dim=16),
        "mistral": lambda: t.MistralConfig(**shared, sliding_window=WINDOW),
        "gemma2": lambda: t.Gemma2Config(
            **{**shared, "num_hidden_layers": 4}, head_dim=16, sliding_window=WINDOW, attn_logit_softcapping=5.0
        ),
        "gemma3": lambda: t.Gemma3TextConfig(
            **{**shared, "num_hidden_layers": 6, "num_key_value_heads": 1},
            head_dim=16,
            sliding_window=WINDOW,
            query_pre_attn_scalar=16,
        ),
        "gpt_neox": lambda: t.GPTNeoXConfig(**ids, **wide),
        "gpt2": lambda: t.GPT2Config(**ids, n_embd=64, n_layer=3, n_head=4, n_positions=256),
        "mamba": lambda: t.MambaConfig(**ids, hidden_size=32, num_hidden_layers=2, state_size=4),
        "bloom": lambda: t.BloomConfig(**ids, hidden_size=32, n_layer=2, n_head=2),
    }[family]()
    for name, value in changed.items():
        setattr(config, name, value)
    return config


@cache
def tiny(family: str, backend: str = "sdpa", dtype: torch.dtype = torch.float32):
    """Shared between tests: leave it as it was."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(1)
    model = AutoModelForCausalLM.from_config(config_of(family), attn_implementation=backend).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 2 and "emb" not in name:
                weight.mul_(4)
    return model.to(dtype)


def batch(side: str = "left"):
    """input_ids, attention_mask, position_ids of two rows; rows of spans."""
    torch.manual_seed(0)
    ids = torch.randint(2, VOCABULARY, (2, TOKENS))
    mask = torch.ones_like(ids)
    spans = [list(row) for row in SPANS]
    if side == "left":
        ids[1, :PAD], mask[1, :PAD] = 0, 0
    elif side == "right":
        ids[1, :-PAD] = ids[1, PAD:].clone()
        ids[1, -PAD:], mask[1, -PAD:] = 0, 0
        spans[1] = [(start - PAD, end - PAD) for start, end in spans[1]]
    else:
        ids, mask, spans = ids[:1], mask[:1], spans[:1]
    return {"input_ids": ids, "attention_mask": mask, "position_ids": (mask.cumsum(-1) - 1).clamp(min=0)}, spans


def logits(model, given):
    return model(**given).logits


def generated(model, given, new=24, **how):
    """The sequences, and the logits of each step."""
    found = model.generate(
        input_ids=given["input_ids"],
        attention_mask=given["attention_mask"],
        max_new_tokens=new,
        do_sample=False,
        pad_token_id=0,
        output_logits=True,
        return_dict_in_generate=True,
        **how,
    )
    return found.sequences, torch.stack(found.logits)


TURNS = (
    "{{ bos_token }}{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content | trim }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
NO_SYSTEM = "{% if messages[0].role == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}" + TURNS
DROPS_SYSTEM = TURNS.replace("<|turn|>{{ m.role }}\n{{ m.content | trim }}<|end|>", "{% if m.role != 'system' %}"
                             "<|turn|>{{ m.role }}\n{{ m.content | trim }}<|end|>{% endif %}")  # fmt: skip


def tokenizer(template: str | None = TURNS):
    """Single bytes, and control tokens."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = ["<pad>", "<bos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    raw = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    found = PreTrainedTokenizerFast(
        tokenizer_object=raw, bos_token="<bos>", pad_token="<pad>", additional_special_tokens=["<|turn|>", "<|end|>"]
    )
    found.chat_template = template
    return found


def speaking(words: int):
    """A tiny llama over that many tokens."""
    from transformers import AutoModelForCausalLM

    torch.manual_seed(2)
    return AutoModelForCausalLM.from_config(config_of("llama", vocab_size=words, max_position_embeddings=2048)).eval()
