"""Votes as each format's own tools write them, one small sample a format."""

import csv
import json
from pathlib import Path

from arena.formats.base import Vote

IMAGE = "9f86d081884c7d659a2feaa0c55ad015"


def state(model: str, question, conv: str = "c0", turns: int = 1) -> dict:
    messages = [
        ["USER", question],
        ["ASSISTANT", "An answer."],
        ["USER", "And then?"],
        ["ASSISTANT", "Nothing."],
    ]
    return {
        "template_name": "raw",
        "system_message": "",
        "roles": ["USER", "ASSISTANT"],
        "messages": messages[: 2 * turns],
        "offset": 0,
        "conv_id": conv,
        "model_name": model,
    }


def log_line(kind: str, models: list, question="How many?", turns: int = 1, **more) -> dict:
    states = [state("model x", question, "c1", turns), state("model y", question, "c2", turns)]
    return {
        "tstamp": 1712345678.1234,
        "type": kind,
        "models": models,
        "states": states,
        "ip": "1.2.3.4",
        **more,
    }


def text_part(text: str) -> dict:
    """A part of a message as arena-human-preference-140k has it."""
    return {"type": "text", "text": text, "image": None, "mimeType": None}


OPEN_WEBUI_MESSAGES = {
    "m1": {"id": "m1", "role": "user", "content": "Count.", "childrenIds": ["m2", "m3"]},
    "m2": {"id": "m2", "parentId": "m1", "role": "assistant", "content": "5"},
    "m3": {"id": "m3", "parentId": "m1", "role": "assistant", "content": "6"},
}
CHAT = {
    "tstamp": 1.5,
    "type": "chat",
    "model": "model x",
    "gen_params": {},
    "start": 1.0,
    "finish": 1.4,
    "ip": "::1",
}
LOG = [
    CHAT,
    log_line("leftvote", ["", ""]),
    log_line("rightvote", ["", ""], ["What is \u2028 this? 🔭", [IMAGE]], 2),
    log_line("tievote", ["### Model A: model x", "### Model B: model y"], reason="both fine"),
    log_line("bothbad_vote", ["<h3>Model A: model x</h3>\n", "<h3>Model B: model y</h3>\n"]),
    {**CHAT, "type": "upvote"},
    log_line("bothbadvote", ["Model A", "Model B"]),
    log_line("leftvote", ["model x", "model y"]),
    log_line("leftvote", ["model x", "another"]),
    log_line("share", ["", ""]),
]
CLEAN = [
    {
        "question_id": f"q{number}",
        "model_a": "model x",
        "model_b": "model y",
        "winner": winner,
        "judge": "arena_user_7",
        "conversation_a": [
            {"role": "user", "content": content, "num_tokens": 3},
            {"role": "assistant", "content": "5"},
        ],
        "conversation_b": [
            {"role": "user", "content": content},
            {"role": "assistant", "content": "6"},
        ],
        "turn": 1,
        "anony": True,
        "language": "English",
        "tstamp": 1712345678.25 + number,
        "category_tag": {"captioning_v0.1": {"captioning": False}},
    }
    for number, (winner, content) in enumerate(
        [
            ("model_a", "Count."),
            ("model_b", ["Count.", [IMAGE]]),
            ("tie", "Read it."),
            (
                "tie (bothbad)",
                [{"type": "text", "text": "Read it."}, {"type": "image", "image": None}],
            ),
            ("both_bad", "Why?"),
        ]
    )
]
SIMPLE = [
    {key: row[key] for key in ("model_a", "model_b", "winner", "judge", "turn", "anony")}
    for row in CLEAN
]
VISION_ARENA = [
    {
        **row,
        "num_turns": 2,
        "images": [{"bytes": None, "path": f"{IMAGE}.png"}],
        "categories": {"ocr": True},
    }
    for row in CLEAN[:1]
]
WILDVISION = [
    {**row, "tstamp": 1712345678, "image": "in.png", "domain": "Daily"}
    for row in [CLEAN[0], CLEAN[2], CLEAN[3]]
]
COMPARIA = [
    {
        "timestamp": "2024-10-20 12:34:56.789012+00:00",
        "visitor_id": visitor,
        "session_hash": "s1",
        "conv_turns": 2,
        "conversation_pair_id": f"aa-{number}",
        "model_pair_name": ["model x", "model y"],
        "opening_msg": "Bonjour, ça va ?",
        "model_a_name": "model x",
        "model_b_name": "model y",
        "chosen_model_name": chosen,
        "both_equal": equal,
        "conv_useful_a": None,
    }
    for number, (visitor, chosen, equal) in enumerate(
        [
            ("v1", "model x", False),
            (None, "model y", False),
            ("v2", None, True),
            ("v2", "model y", None),
        ]
    )
]
VISIT = [
    {
        "image_url": "https://example.org/a.png",
        "instruction": 'Is the total\n right, "all in all"?',
        "A": "Yes, it is.",
        "B": "",
        "A_model": "llava13b_output",
        "B_model": "human_verified_reference",
        "model_selection.A": str(first),
        "model_selection.B": str(not first),
    }
    for first in (True, False, False)
]
VISIT_BATTLES = [
    {
        "A_model": "llava13b_output",
        "B_model": "panda_gpt_13b_output",
        "A": "Yes, it is.",
        "B": "",
        "image_url": images,
        "instruction": "Is the total right?",
        "instruction_category": "Math",
        "engine": "gpt-4",
        "evaluated_with_reference": backed,
        "auto_evaluation_result": results,
        "auto_evaluation_cot": [f"Overall, Response {said} is better.", "Hard to say.\u2028"],
        "A_model_in_cot": ["llava13b_output", "panda_gpt_13b_output"],
        "B_model_in_cot": ["panda_gpt_13b_output", "llava13b_output"],
    }
    for images, backed, said, results in (
        ("https://example.org/a.png", False, "A", ["A", "A"]),
        (["https://example.org/a.png", "https://example.org/b.png"], True, "B", ["B", "Tie"]),
        ("https://example.org/a.png", False, "A", ["A", "B"]),
        ("https://example.org/a.png", False, "B", ["panda_gpt_13b_output", "B"]),
        ("https://example.org/a.png", False, "A", ["A", None]),
    )
]
THREE = [
    {"model_a": a, "model_b": b, "winner": winner}
    for a, b, winner in [
        ("x", "y", "model_a"),
        ("y", "z, the 2nd", "model_b"),
        ("z", "x", "tie"),
        ("x", "y", "both_bad"),
    ]
]
OURS = [
    {
        **Vote(
            "x", "y", "a", "f00d", "v1", 1712345678.125, "Counting", None, 1, 2, "b7", True
        )._asdict(),
        "origin": None,
        "origin_row": None,
        "dwell_ms": 812,
    },
    {**Vote("x", "y", "both_bad")._asdict(), "origin": None, "origin_row": None, "dwell_ms": None},
]
PREFERENCE_140K = [
    {
        "id": f"id{number}",
        "model_a": "model x",
        "model_b": "model y",
        "winner": winner,
        "evaluation_session_id": f"s{number // 2}",
        "evaluation_order": 1 + number % 2,
        "conversation_a": [
            {"role": "user", "content": [text_part("Count.")]},
            {"role": "assistant", "content": [text_part("5")]},
        ],
        "conversation_b": [
            {"role": "user", "content": [text_part("Count.")]},
            {"role": "assistant", "content": [text_part("6")]},
        ],
        "full_conversation": [],
        "conv_metadata": {"sum_assistant_a_tokens": 3},
        "language": "en",
        "timestamp": "2025-06-01T12:00:00",
    }
    for number, winner in enumerate(["model_a", "model_b", "tie", "both_bad"])
]
PREFERENCE_100K = [
    {
        "question_id": row["id"],
        "model_a": row["model_a"],
        "model_b": row["model_b"],
        "winner": row["winner"],
        "conversation_a": json.dumps(row["conversation_a"]),
        "conversation_b": json.dumps(row["conversation_b"]),
        "turn": 1,
        "anony": True,
        "tstamp": 1748779200.0,
        "judge_hash": row["evaluation_session_id"],
        "dedup_tag": json.dumps({"high_freq": False, "sampled": True}),
    }
    for row in PREFERENCE_140K
]
EXPERT_5K = [
    {column: value for column, value in row.items() if column != "evaluation_session_id"}
    for row in PREFERENCE_140K
]
SEARCH_ARENA = [
    {
        "model_a": "model x",
        "model_b": "model y",
        "winner": winner,
        "judge": "78996144fc08f820",
        "turn": 1,
        "timestamp": "2025-03-18T16:39:00.550000",
        "messages_a": row["conversation_a"],
        "messages_b": row["conversation_b"],
        "primary_intent": "Factual Lookup",
        "languages": ["English"],
    }
    for row, winner in zip(
        [*CLEAN[:1], *CLEAN[2:3], *CLEAN[:1], *CLEAN[4:]],
        ["model_a", "tie", None, "both_bad"],
        strict=True,
    )
]
KAGGLE_ARENA = [
    {
        "id": number,
        "model_a": "model x",
        "model_b": "model y",
        "prompt": json.dumps(["Count.", "And now?"]),
        "response_a": json.dumps(["5", None]),
        "response_b": json.dumps(["6", "7"]),
        "winner_model_a": int(number == 0),
        "winner_model_b": int(number == 1),
        "winner_tie": int(number == 2),
    }
    for number in range(3)
]
COMPARIA_TURNS = [
    {
        "response_id": f"r{number}",
        "choice": choice,
        "turn": 0,
        "comparison_id": f"c{number}",
        "model_a": "model x",
        "model_b": "model y",
        "timestamp": "2026-08-04T16:15:55.911000",
        "full_conversation_a": [
            {"role": "user", "content": "Bonjour"},
            {"role": "assistant", "content": "Salut"},
        ],
        "full_conversation_b": [
            {"role": "user", "content": "Bonjour"},
            {"role": "assistant", "content": "Bonjour !"},
        ],
        "metadata": {"mode": "random", "languages": ["fr"], "categories": ["Education"]},
    }
    for number, choice in enumerate(["a_better", "b_better", "both_good", "both_bad", None, "idk"])
]
LABEL_STUDIO = [
    {
        "id": number,
        "data": {"prompt": "Count.", "text1": "5", "text2": "6", "model_a": "x", "model_b": "y"},
        "annotations": [
            {
                "id": 10 + number,
                "completed_by": 1,
                "was_cancelled": selected is None,
                "created_at": "2024-03-29T05:39:54.721157Z",
                "result": [
                    {
                        "type": "pairwise",
                        "from_name": "pw",
                        "to_name": "text1,text2",
                        "value": {"selected": selected},
                    }
                ],
            }
        ],
    }
    for number, selected in enumerate(["left", "right", None])
]
LABEL_STUDIO_FLAT = [
    {
        **task["data"],
        "id": task["id"],
        "annotator": 1,
        "annotation_id": 10 + task["id"],
        "created_at": "2024-03-29T05:39:54.721157Z",
        "updated_at": "2024-03-29T05:39:54.721157Z",
        "lead_time": 37.4,
        "pw": [{"selected": side}],
    }
    for task, side in zip(LABEL_STUDIO[:2], ["left", "right"], strict=True)
]
EVALICA = [
    {"left": "x", "right": "y", "winner": winner} for winner in ("left", "right", "tie", "Left")
]
OPEN_WEBUI = [
    {
        "id": f"f{number}",
        "user_id": "u1",
        "version": 0,
        "type": "rating",
        "data": {"rating": rating, "model_id": "x", "sibling_model_ids": siblings},
        "meta": {"arena": True, "chat_id": "c1", "message_id": "m2"},
        "snapshot": {"chat": {"chat": {"history": {"messages": OPEN_WEBUI_MESSAGES}}}},
        "created_at": 1729946400,
        "updated_at": 1729946400,
    }
    for number, (rating, siblings) in enumerate([(1, ["y"]), (-1, ["y"]), (1, None), (None, ["y"])])
]
SAMPLES = {
    "fastchat-log": (LOG, ".json"),
    "clean-battles": (CLEAN, ".json"),
    "visit-bench": (VISIT, ".csv"),
    "visit-battles": (VISIT_BATTLES, ".jsonl"),
    "three-columns": (THREE, ".csv"),
    "wildvision": (WILDVISION, ".jsonl"),
    "comparia": (COMPARIA, ".jsonl"),
    "search-arena": (SEARCH_ARENA, ".jsonl"),
    "kaggle-arena": (KAGGLE_ARENA, ".csv"),
    "comparia-turns": (COMPARIA_TURNS, ".jsonl"),
    "label-studio": (LABEL_STUDIO, ".json"),
    "evalica": (EVALICA, ".csv"),
    "open-webui": (OPEN_WEBUI, ".json"),
    "stereoscope": (OURS, ".jsonl"),
}


def put(path: Path, rows: list[dict], lines: bool = False) -> Path:
    """Write a sample as its public tools do."""
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0], lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".json" and not lines:
        path.write_text(json.dumps(rows, indent=2, ensure_ascii=False), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def sample(name: str, folder: Path) -> Path:
    rows, suffix = SAMPLES[name]
    return put(folder / f"sample{suffix}", rows, lines=name == "fastchat-log")
