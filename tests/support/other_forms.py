"""Benchmarks in other forms: the Hub's `eval.yaml`, and a task of lmms-eval with a file that it includes."""

EVAL = """\
name: Zoo
description: >
  Questions on animals that a keeper asks,
  with a picture each.
evaluation_framework: inspect-ai
maintainer: someone
tasks:
  - id: zoo:cages
    config: cages
    split: validation
    field_spec: {input: question, target: answer, choices: options, input_image: image, metadata: [house]}
    shuffle_choices: true
    epochs: 4
    epoch_reducer: mode
    solvers:
      - {name: chain_of_thought}
      - {name: multiple_choice, args: {cot: true}}
    scorers:
      - {name: f1}
      - {name: choice}
  - id: zoo:names
    field_spec: {input: q, target: a, id: no, sandbox: box}
    solvers:
      - name: prompt_template
        args:
          template: |
            Look at the picture.
            {prompt}
      - {name: generate}
    scores:
      - {name: model_graded_fact, args: {model: a/judge}}
"""
TASK = """\
task: zoo_val
include: _zoo_template_yaml
test_split: validation
dataset_name: names
doc_to_text: "{{ question }}"
metric_list:
  - metric: anls
    aggregation: mean
    higher_is_better: true
  - metric: zoo_score
    aggregation: !function utils.zoo_mean
"""
TEMPLATE = """\
dataset_path: somebody/zoo
dataset_name: default
doc_to_visual: !function utils.zoo_pictures
doc_to_text: !function utils.zoo_question
doc_to_target: "answers"
generation_kwargs: {max_new_tokens: 16}
lmms_eval_specific_kwargs: {default: {post_prompt: "Answer:"}}
"""
