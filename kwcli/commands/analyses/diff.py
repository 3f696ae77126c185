"""`kw diff`: two captures in, what changed from one to the other out."""

from __future__ import annotations

import click

from kwcli.capture_options import CaptureOptions
from kwcli.options import ANSWER_FORMATS, FilterOptions, OutputOptions, answer_options, words_option
from kwcli.run_environment import Environment

EXAMPLES = """\b
Examples:
  kw diff before.pcapng after.pcapng
  kw diff monday/ tuesday/ --client-id 'checkout-*' --fail-on new-error,slower
  kw diff before.pcapng after.pcapng -o html > diff.html"""
CHANGES = (
    *("new-error", "gone-error", "new-client", "gone-client", "new-version", "new-acks", "new-topic", "gone-topic"),
    *("new-group", "gone-group", "new-api", "gone-api", "new-api-version", "slower", "faster", "larger", "smaller"),
    *("busier", "quieter", "any", "never"),
)


@click.command("diff", epilog=EXAMPLES)
@answer_options(
    words_option(
        "--fail-on", "fail_on", known=CHANGES, metavar="CHANGE,...", help="Exit with code 4 on these, or on `any`."
    ),
    verbose="Show what is too rare to tell from chance, too.",
    formats=(*ANSWER_FORMATS, "html"),
)
@click.pass_obj
def command(
    env: Environment, capture: CaptureOptions, fail_on: tuple[str, ...], filters: FilterOptions, shown: OutputOptions
) -> int:
    """Say what changed between two captures: clients, versions, acks, errors, topics, groups, latency, sizes.

    FILE as for `kw sniff`, twice: before and after. A difference is told where its effect is large and more than chance
    (kw help diff). Two halves of one sound capture differ in nothing.
    """
    from decoders.wire.suggest_similar_words import did_you_mean
    from kwcli.analyses.compare_traffic import FAIL_ON_CHANGES, run_diff

    for word in fail_on:
        if word not in FAIL_ON_CHANGES:
            raise click.UsageError(
                f"--fail-on: no difference is {word!r}{did_you_mean(word, FAIL_ON_CHANGES)}",
                click.get_current_context(),
            )
    capture.check_usage()
    return run_diff(env, shown.make_settings(env), capture, filters, fail_on)
