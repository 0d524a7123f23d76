"""The files of answers that a stopped run leaves: one for each model, in any script."""

from arena.cli.answer import _file_name


def test_models_of_any_script_have_files_of_their_own():
    assert _file_name("Model X_7/b") == "Model-X-7-b.jsonl"
    assert _file_name("模型一") != _file_name("模型二")
