"""Tiny VLMs of LLaVA's and SmolVLM's layouts with random weights: built here, saved as people save theirs.

`python -m tests.support.tiny_vlm FOLDER [SEED]` builds one in a folder. It says words, not
sense, and seldom stops by itself.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

WORDS = (
    "a the one two three red green blue old small large house tree dog cat bird river street boat hat man woman child "
    "sits stands holds looks under over near beside with and of in on is are there it they which while"
).split()
SPECIAL = ("<pad>", "<s>", "</s>", "<image>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% for part in message['content'] %}{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def build(folder: Path, seed: int = 0) -> Path:
    """Build and save a model; the seed decides what it says. Returns the folder."""
    import torch
    from transformers import (
        CLIPImageProcessorPil,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=28,
            patch_size=14,
        ),
        text_config=LlamaConfig(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=2,
            num_key_value_heads=2,
            max_position_embeddings=32_768,
            bos_token_id=1,
            eos_token_id=2,
            pad_token_id=0,
        ),
        image_token_index=3,
        image_seq_length=4,
        vision_feature_layer=-1,
    )
    model = LlavaForConditionalGeneration(config).eval()
    _say_words(model, tokenizer)
    with torch.no_grad():
        for (
            layer
        ) in model.model.multi_modal_projector.parameters():  # what the image shows is heard
            layer *= 30
    model.generation_config.eos_token_id = [2, tokenizer.convert_tokens_to_ids("<|im_end|>")]
    model.generation_config.pad_token_id = 0
    model.save_pretrained(folder)
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": 28}, crop_size={"height": 28, "width": 28}
        ),
        tokenizer=tokenizer,
        patch_size=14,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    )
    processor.save_pretrained(folder)
    return folder


def build_smol(folder: Path, seed: int = 0) -> Path:
    """Build and save a model of SmolVLM's layout, which cuts a picture into tiles. Returns the folder."""
    import torch
    from transformers import (
        Idefics3Config,
        Idefics3ForConditionalGeneration,
        Idefics3ImageProcessorPil,
        Idefics3Processor,
    )

    torch.manual_seed(seed)
    tokenizer = _tokenizer()
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer.add_special_tokens(
        {
            "additional_special_tokens": [
                *("<fake_token_around_image>", "<global-img>", "<end_of_utterance>"),
                *tiles,
            ]
        }
    )
    small = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
    }
    config = Idefics3Config(
        vision_config={**small, "image_size": 512, "patch_size": 16},
        text_config={
            **small,
            "model_type": "llama",
            "vocab_size": len(tokenizer),
            "num_key_value_heads": 2,
            "max_position_embeddings": 8_192,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        scale_factor=4,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=0,
    )
    model = Idefics3ForConditionalGeneration(config).eval()
    _say_words(model, tokenizer)
    model.save_pretrained(folder)
    pictures = Idefics3ImageProcessorPil(
        size={"longest_edge": 2048}, max_image_size={"longest_edge": 512}
    )
    processor = Idefics3Processor(pictures, tokenizer, image_seq_len=64, chat_template=TEMPLATE)
    processor.save_pretrained(folder)
    return folder


def _say_words(model: Any, tokenizer: "PreTrainedTokenizerFast") -> None:
    """Let words come out of a model, no lone bytes and no special tokens."""
    import torch

    with torch.no_grad():
        head = model.lm_head.weight
        head *= 50
        head[
            [
                number
                for token, number in tokenizer.get_vocab().items()
                if token.removeprefix("Ġ") not in WORDS
            ]
        ] = 0


def _tokenizer() -> "PreTrainedTokenizerFast":
    """Bytes, and the words with a space before them."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = [f"Ġ{word}" for word in WORDS]
    vocabulary = {
        token: number
        for number, token in enumerate([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])
    }
    merges = []
    for word in words:
        for end in range(2, len(word) + 1):
            merge = (word[: end - 1], word[end - 1])
            if merge not in merges:
                merges.append(merge)
                vocabulary.setdefault(word[:end], len(vocabulary))
    bare = Tokenizer(models.BPE(vocabulary, merges))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    bare.add_special_tokens([AddedToken(token, special=True) for token in SPECIAL])
    return PreTrainedTokenizerFast(
        tokenizer_object=bare,
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="</s>",
        padding_side="left",
    )


if __name__ == "__main__":
    build(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
