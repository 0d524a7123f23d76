"""Sheets of the task map: the paper's clusters in a report."""

from collections.abc import Mapping

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.benchmarks.mmt_bench import ClusterScores, MMTBenchScores
from scoring.task_map.groups import group_scores
from scoring.task_map.published import PublishedCluster, clusters, published_clusters
from scoring.task_map.types import Accuracies


def cluster_sheet(scores: MMTBenchScores, beside: Accuracies | None) -> Sheet:
    """A row for each of the paper's clusters: this file's scores, and what Table 4 prints."""
    enough = beside if beside and beside.are_enough else None
    models = len(beside.models) if beside else 1
    told = (
        f"Tau: of the cluster's mean with Overall, over this report and {models - 1} published ones that were read "
        "alike. "
        if enough
        else f"Tau takes five reports that were read alike, this one and published ones; here are {models}. "
    )
    columns = (
        Column("cluster", "Cluster"),
        Column("domain", "Domain"),
        Column("subtasks", "Subtasks", "count"),
        Column("n", "n", "count"),
        Column("own", "This file", "score"),
        Column("tau", "Tau", "score", places=2),
        Column("random", "Random", "score"),
        Column("frequency", "Frequency", "score"),
        Column("published", "Table 4: mean", "score"),
        Column("published_tau", "tau", "score", places=2),
    )
    pairs = zip(published_clusters(), scores.clusters, strict=True)
    rows = [_cluster_row(cluster, own, enough) for cluster, own in pairs]
    note = (
        f"{told}Table 4 and the domains are the paper's, on the whole benchmark: in-domain clusters have high accuracy "
        "and high tau, out-of-domain ones neither."
    )
    title = "Clusters of the paper's task map"
    return Sheet("clusters", title, pd.DataFrame(rows), columns, note)


def _cluster_row(
    cluster: PublishedCluster, scores: ClusterScores, beside: Accuracies | None
) -> Mapping[str, object]:
    tau = group_scores(clusters()[cluster.number], beside).tau if beside else None
    return {
        "cluster": f"{cluster.number}",
        "domain": cluster.domain or "",
        "subtasks": cluster.tasks,
        "n": scores.own.n,
        "own": scores.own.mean,
        "tau": tau,
        "random": scores.random.mean,
        "frequency": scores.frequency.mean,
        "published": cluster.accuracy,
        "published_tau": cluster.tau,
    }
