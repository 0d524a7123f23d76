"""Job panel of "Score a model": a job's progress and buttons, and the list of all jobs and reports."""

from typing import Any

import gradio as gr

from arena.locale import t, translated
from arena.web.events import Updates
from scoring.jobs.service import JobService
from scoring.jobs.store import Job
from scoring.registry import benchmark_of
from scoring.web import scoring_forms as forms
from scoring.web.scoring_settings import ScoringSettings
from scoring.web.scoring_view import (
    job_to_show,
    jobs_html,
    progress_html,
    quote_html,
    waits_text,
)

HIDDEN = gr.update(visible=False)
"""The update that hides a component."""


class JobPanel:
    """Components as attributes, in three places of the page; methods return the updates that show a job."""

    def __init__(self, service: JobService) -> None:
        self._service = service
        self.link = gr.Textbox(visible="hidden", elem_id="job-link")
        self.clock = gr.Timer(1.5, active=False)

    def build_progress(self) -> None:
        self.progress = gr.HTML(elem_id="progress", padding=False)

    def build_buttons(self) -> None:
        self.confirm = button("confirm", t("score.start"))
        self.rest = button("rest", t("score.ask_judge"))
        """Asks a judge about the answers that the rules left open."""
        self.resume = button("resume", t("score.resume"))
        self.cancel = button("cancel", t("score.cancel"), "secondary")
        self.delete = button("delete", t("score.delete"), "secondary")

    def build_list(self) -> None:
        self.job_list = gr.HTML(elem_id="mine", padding=False)

    @property
    def parts(self) -> list[Any]:
        """The components that an update about a job may change."""
        buttons = [self.confirm, self.rest, self.cancel, self.resume, self.delete]
        return [self.link, self.progress, *buttons, self.job_list, self.clock]

    def blank_updates(self) -> Updates:
        """Returns the updates that clear an earlier file's job; the job continues and stays in the list."""
        buttons = (self.rest, self.confirm, self.cancel, self.resume, self.delete)
        return {
            self.link: "",
            self.progress: "",
            self.clock: gr.Timer(active=False),
            **dict.fromkeys(buttons, HIDDEN),
        }

    def updates(self, owner: str, link: str, settings: ScoringSettings) -> Updates:
        """Returns the updates that show the owner's job of this link, else the one under way, and all jobs."""
        jobs = self._service.jobs.of_owner(owner)
        by_link = {job.link: job for job in jobs}
        job = by_link.get(link) or job_to_show(jobs)
        state = job.state if job else None
        is_stopped = job is not None and job.is_stopped
        updates = {
            self.link: job.link if job else "",
            self.progress: self._progress_html(job) if job else "",
            self.confirm: gr.update(visible=state == "quoted"),
            self.rest: HIDDEN,
            self.cancel: gr.update(visible=state in ("waiting", "judging")),
            self.resume: gr.update(visible=is_stopped),
            self.delete: gr.update(visible=state == "done" or is_stopped),
            self.job_list: jobs_html(jobs, waits_text(job_to_show(jobs), self._service.jobs)),
            self.clock: gr.Timer(active=state in ("waiting", "judging")),
        }
        if job and is_stopped:
            updates |= settings.job_updates(job)
        if job:
            updates |= self._open_answer_updates(owner, job, settings)
        return updates

    def _open_answer_updates(self, owner: str, job: Job, settings: ScoringSettings) -> Updates:
        """Returns the button and the choice of a judge for the answers that the rules left open, with the price.

        Returns {} if none is open.
        """
        left = self._service.count_left(job)
        if not left:
            return {}
        benchmark = benchmark_of(job)
        text = translated(benchmark.judge_label.format(left=forms.count_text(left, benchmark.unit)))
        is_judge_lent = not self._service.why_not_lent(owner)
        if is_judge_lent:
            cost = self._service.price(owner, self._service.draft_rest(owner, job.link), None)
            text = f"{text} · {forms.price_text(cost)}"
        return {
            **dict.fromkeys(settings.file_components, HIDDEN),
            settings.details: gr.update(
                visible=True, open=False, label=t("score.details_of", choices=t("score.judge_word"))
            ),
            self.rest: gr.update(visible=True, value=text),
        }

    def _progress_html(self, job: Job) -> str:
        if job.state == "quoted":
            return quote_html(job, self._service.ceiling)
        first_grades = []
        if job.done and job.state != "done":
            first_grades = self._service.first_grades(job)
        return progress_html(job, waits_text(job, self._service.jobs), first_grades)


def button(elem_id: str, label: str, variant: Any = "primary") -> gr.Button:
    return gr.Button(label, elem_id=elem_id, variant=variant, visible=False)
