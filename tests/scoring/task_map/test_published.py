"""The paper's own numbers come out of its own accuracies: Table 4, and Table 3 at delta 1 by both readings."""

import numpy as np
import pytest

from scoring.benchmarks.mmt_bench import subtasks
from scoring.task_map.groups import domain_of, group_scores
from scoring.task_map.orders import paper_taus, taus
from scoring.task_map.published import (
    MISPRINTED_TASK,
    paper_accuracies,
    published_clusters,
    published_curve,
    task_key,
    tasks_by_cluster,
)

AS_PRINTED = paper_accuracies(as_printed=True)
ALL = paper_accuracies(with_shifted=True, as_printed=True)


def test_table_4_by_the_20_models_whose_columns_are_as_headed():
    found = [
        group_scores(tasks_by_cluster()[one.number], AS_PRINTED) for one in published_clusters()
    ]
    assert len(AS_PRINTED.models) == 20 and len(ALL.models) == 32
    pairs = list(zip(published_clusters(), found, strict=True))
    assert [len(one.tasks) for one in found] == [one.tasks for one in published_clusters()]
    assert sum(abs(one.accuracy - there.accuracy) <= 0.1 for one, there in pairs) >= 10
    assert sum(abs(one.tau - there.tau) <= 0.005 for one, there in pairs) >= 8
    assert sum(map(len, tasks_by_cluster().values())) == len(subtasks()) == 162


def tau_of_means(values):
    """Mean over the tasks of their tau with the models' mean over all, ties counting as nothing."""
    values = np.column_stack([values, values.mean(axis=1)])
    first, second = np.triu_indices(len(values), 1)
    signs = np.sign(np.round(values[first] - values[second], 9))
    return (signs[:, :-1] * signs[:, -1:]).mean()


def test_table_3_at_delta_1_by_both_readings():
    assert paper_taus(AS_PRINTED.values).mean() == pytest.approx(0.209, abs=5e-4)
    assert paper_taus(ALL.values).mean() == pytest.approx(0.260, abs=5e-4)
    assert tau_of_means(AS_PRINTED.values) == pytest.approx(0.289, abs=5e-4)
    assert list(published_curve().values()) == [0.29, 0.31, 0.32, 0.41, 0.60]
    assert [float(delta) for delta in published_curve()] == [1, 1 / 2, 1 / 4, 1 / 6, 1 / 8]


def test_orders_agree_more_inside_the_published_clusters():
    between = paper_taus(ALL.values)
    number = np.array([subtasks()[task].cluster for task in ALL.tasks])
    same, other = number[:, None] == number, ~np.eye(len(number), dtype=bool)
    assert between[same & other].mean() == pytest.approx(0.326, abs=5e-4)
    assert between[~same].mean() == pytest.approx(0.243, abs=5e-4)


def test_what_is_no_accuracy_is_left_out_where_columns_are_as_headed():
    place = AS_PRINTED.tasks.index(MISPRINTED_TASK)
    assert np.isnan(paper_accuracies().values[:, place]).all()
    assert (~np.isnan(paper_accuracies(with_shifted=True).values[:, place])).sum() == 12
    assert np.isnan(taus(paper_accuracies().values)[place]).all()


def test_domains_and_names_in_other_spellings():
    domains = [(one.number, one.domain) for one in published_clusters() if one.domain]
    assert domains == [(2, "in"), (3, "in"), (8, "out"), (9, "out"), (10, "in"), (11, "out")]
    assert domain_of("reason_seg") == "out" and domain_of("nothing of it") is None
    assert [task_key(name) for name in ("Reason Seg", "reason-seg", "REASON_SEG", "my task")] == [
        *["reason_seg"] * 3,
        "my task",
    ]
