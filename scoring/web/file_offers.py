"""Offers for a file on "Score a model": its drafts, and the price of each way to judge it."""

from typing import Any

import gradio as gr

from arena.locale import t, translated
from scoring.benchmarks.base import Benchmark
from scoring.benchmarks.mm_vet import OptionsError
from scoring.jobs.files import DraftRecipe
from scoring.jobs.service import JobService
from scoring.web import scoring_forms as forms
from scoring.web.scoring_settings import ScoringSettings, Values


class FileOffers:
    """The ways to judge a file by the choices in the form: `token` names the file, `stored` a model of the bank."""

    def __init__(
        self,
        service: JobService,
        settings: ScoringSettings,
        token: gr.Textbox,
        stored: gr.Dropdown,
    ) -> None:
        self._service = service
        self._settings = settings
        self._token = token
        self._stored = stored

    def draft(
        self, owner: str, benchmark: Benchmark[Any], values: Values, offer_key: str
    ) -> DraftRecipe:
        """Makes a file's draft for the offer of this key. Raises JobServiceError for an invalid choice."""
        token = str(values[self._token])
        title = self._settings.report_title(values)
        if benchmark.way == "questions first":
            questions = self._settings.questions(values)
            options = self._settings.options(benchmark, values, offer_key)
            return self._service.draft_answers(owner, token, questions, options, title)
        if benchmark.way == "sealed":
            protocol = self._settings.chosen_protocol(benchmark, values)
            return self._service.draft_sealed(owner, token, protocol, title)
        if benchmark.way == "compare":
            request = self._settings.comparison(benchmark, values, offer_key)
            if token:
                return self._service.draft_comparison(owner, token, request)
            stored = {str(model): model for model in self._service.submissions.stored_models()}
            name = forms.check_choice(stored, values[self._stored])
            return self._service.draft_stored_comparison(stored[name], request)
        protocol = self._settings.chosen_protocol(benchmark, values)
        chosen = self._settings.file_choice(values)
        return self._service.draft_file(owner, token, chosen, protocol, title)

    def is_graded(self, owner: str, benchmark: Benchmark[Any], values: Values) -> bool:
        """Whether the file has grades of its answers, so that no judge is needed."""
        if benchmark.way != "questions first":
            return False
        return self._service.has_grades(owner, str(values[self._token]))

    def offers(self, owner: str, benchmark: Benchmark[Any], values: Values) -> list[forms.Offer]:
        """Returns the ways to judge a file, the cheapest first.

        Raises one of `ERRORS` in `scoring_problems` if no way can judge it.
        """
        judge = self._settings.own_judge(owner, values)
        # A visitor's own judge has no price before the model has a name.
        has_price = judge is None or bool(judge.model)
        offers = []
        offer_keys = [*forms.WAYS.get(benchmark.way, [forms.EVERY])]
        drafts = [self.draft(owner, benchmark, values, offer_key) for offer_key in offer_keys]
        costs = self._service.costs(owner, drafts, judge)
        for offer_key, cost in zip(offer_keys, costs, strict=True):
            if isinstance(cost, OptionsError):
                offers.append(forms.Offer(offer_key, None, translated(cost)))
                continue
            hindrance = ""
            if judge is None and self._service.exceeds_ceiling(cost):
                hindrance = t("score.over", dollars=f"${self._service.ceiling:,.2f}")
            offers.append(forms.Offer(offer_key, cost if has_price else None, hindrance))
        return offers
