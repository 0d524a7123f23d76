"""The sheet of the paper's clusters in a report."""

from collections.abc import Mapping

import pandas as pd

from arena.sheets import Column, Sheet
from scoring.benchmarks.mmt_bench import ClusterScores, MMTBenchScores
from scoring.task_map.published import PublishedCluster, published_clusters


def cluster_sheet(scores: MMTBenchScores) -> Sheet:
    """A sheet with a row for each of the paper's clusters: this file's scores beside Table 4's."""
    columns = (
        Column("cluster", "Cluster"),
        Column("domain", "Domain", has_words=True),
        Column("subtasks", "Subtasks", "count"),
        Column("n", "n", "count"),
        Column("own", "This file", "score"),
        Column("random", "Random", "score"),
        Column("frequency", "Frequency", "score"),
        Column("published", "Table 4: mean", "score"),
        Column("published_tau", "tau", "score", places=2),
    )
    pairs = zip(published_clusters(), scores.clusters, strict=True)
    rows = [_cluster_row(cluster, own) for cluster, own in pairs]
    note = (
        "Table 4 and the domains are the paper's, on the whole benchmark: in-domain clusters have high accuracy "
        "and high tau, out-of-domain ones neither. The task map has tau over published reports."
    )
    title = "Clusters of the paper's task map"
    return Sheet("clusters", title, pd.DataFrame(rows), columns, note)


def _cluster_row(cluster: PublishedCluster, scores: ClusterScores) -> Mapping[str, object]:
    return {
        "cluster": f"{cluster.number}",
        "domain": cluster.domain or "",
        "subtasks": cluster.tasks,
        "n": scores.own.n,
        "own": scores.own.mean,
        "random": scores.random.mean,
        "frequency": scores.frequency.mean,
        "published": cluster.accuracy,
        "published_tau": cluster.tau,
    }
