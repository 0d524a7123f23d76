"""The layers that an adapter is added to: those of the text model, by their own numbers."""

import pytest

SETTINGS = {
    "seed": 0,
    "rank": 2,
    "alpha": 4,
    "dropout": 0.0,
    "revision": None,
    "modules": ["up_proj"],
    "layers": [1],
}


@pytest.mark.soak
@pytest.mark.parametrize("prefix", ["text.", ""])
def test_a_layers_number_is_no_experts_number(prefix):
    pytest.importorskip("peft")
    import torch  # here, so that nothing else waits for it

    from arena.inference.adapter_training import _with_adapter

    def experts() -> torch.nn.ModuleList:
        return torch.nn.ModuleList(
            torch.nn.ModuleDict({"up_proj": torch.nn.Linear(4, 4)}) for _ in range(2)
        )

    layers = torch.nn.ModuleList(torch.nn.ModuleDict({"experts": experts()}) for _ in range(2))
    decoder = torch.nn.ModuleDict({"layers": layers})
    model = torch.nn.ModuleDict({"text": decoder}) if prefix else decoder
    model.get_decoder = lambda: decoder
    chosen = _with_adapter(model, SETTINGS).peft_config["default"].target_modules
    assert chosen == {f"{prefix}layers.1.experts.{number}.up_proj" for number in range(2)}
