"""Tiny language models with random weights, made on the spot: no download."""

from pathlib import Path


def tiny(folder: Path, kind: str = "llama", seed: int = 0, window: int | None = None) -> str:
    """A model of one of several architectures, with a tokeniser of single bytes, saved into ``folder``."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import (
        AutoModelForCausalLM,
        Gemma2Config,
        Gemma3TextConfig,
        GPT2Config,
        LlamaConfig,
        MambaConfig,
        PreTrainedTokenizerFast,
    )

    letters = ["<bos>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    raw = Tokenizer(models.BPE({letter: number for number, letter in enumerate(letters)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    PreTrainedTokenizerFast(tokenizer_object=raw, bos_token="<bos>").save_pretrained(folder)
    ids = {"vocab_size": len(letters), "bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0}
    wide = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 3, "num_attention_heads": 4}
    gemma = {**wide, "num_key_value_heads": 1, "head_dim": 8, "max_position_embeddings": 2048}
    config = {
        "llama": lambda: LlamaConfig(**ids, **wide, num_key_value_heads=2, max_position_embeddings=2048),
        "gemma3": lambda: Gemma3TextConfig(**ids, **gemma, sliding_window=window or 1024),
        "gemma2": lambda: Gemma2Config(**ids, **gemma, final_logit_softcapping=0.1),
        "gpt2": lambda: GPT2Config(**ids, n_embd=32, n_layer=3, n_head=4, n_positions=2048),
        "mamba": lambda: MambaConfig(**ids, hidden_size=32, num_hidden_layers=2, state_size=4),
    }[kind]()
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:  # far from uniform, so that a wrong token shows
                weight.normal_(0, 0.3)
    model.save_pretrained(folder)
    return str(folder)
