import type { ModelFeature } from '../core/domain/model-features.ts'
import { AppError } from '../core/errors.ts'

/** Thrown before any of the answer has arrived: the request may succeed without the feature. */
export class FeatureRefused extends AppError {
  readonly feature: ModelFeature

  constructor(feature: ModelFeature, failure: AppError) {
    super(failure.code, failure.message, { cause: failure.cause })
    this.feature = feature
  }
}

/** Words of a server that refuses, as opposed to one that found a mistake. */
const REFUSAL = new RegExp(
  [
    'not? (yet |be |currently )*(support|allow|permit|implement|enabl|recogni|accept|available)',
    "n't (support|allow|accept)",
    'unsupported|unrecognized|unknown|unexpected|disabled|not_supported',
    'extra inputs|extra_forbidden|additional propert',
    // llama.cpp: "tools param requires --jinja flag". vLLM: "requires --enable-auto-tool-choice".
    'requires? ',
    'only support|no endpoints|cannot|can not|combined',
  ].join('|'),
  'i',
)

interface Rule {
  readonly feature: ModelFeature
  readonly words: RegExp
  /** The words alone say it. */
  readonly isEnough?: true
}

/** The first match counts: specific ones precede general ones. */
const RULES: readonly Rule[] = [
  // Mistral, code 3280: "Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9".
  {
    feature: 'call_ids',
    words: /tool call id was|tool_call_id.{0,40}(length|format)/i,
    isEnough: true,
  },
  // The template of Llama 3.1 in vLLM and llama.cpp.
  {
    feature: 'parallel_calls',
    words: /single tool-?\s?calls? at once|one tool call at/i,
    isEnough: true,
  },
  // Mistral, code 3230: "Unexpected role 'user' after role 'tool'". Templates of Gemma and Mistral in vLLM and llama.cpp:
  // "Conversation roles must alternate user/assistant/user/assistant/...".
  {
    feature: 'role_order',
    words:
      /roles? must alternate|unexpected role .{0,20} after role|expected last role|after the optional system message/i,
    isEnough: true,
  },
  // "System role not supported" of Gemma's template, "Developer instruction is not enabled" of Gemini's server for Gemma.
  {
    feature: 'system_role',
    words: /system[ _]?(role|message|prompt|instruction)|developer instruction|role.{0,12}system/i,
  },
  { feature: 'usage', words: /stream_options|include_usage/i },
  { feature: 'max_completion_tokens', words: /max_completion_tokens/i },
  { feature: 'max_tokens', words: /max_tokens/i },
  { feature: 'reasoning_history', words: /reasoning_content/i },
  { feature: 'caching', words: /cache_control/i },
  // Before tools: Gemini says "Function calling with a response mime type: 'application/json' is unsupported".
  {
    feature: 'response_format',
    words:
      /response[_ ]format|response mime type|json[_ ]schema|structured output|output_config|output_format/i,
  },
  // Ollama: "… does not support tools". llama.cpp before 2025: "Unsupported param: tools". OpenRouter, 404: "No endpoints
  // found that support tool use".
  {
    feature: 'tools',
    words: /\btools?\b|tool[_-]choice|tool[- ]call|function[ _-]?call|\bfunctions\b/i,
  },
  { feature: 'streaming', words: /\bstream(ing|ed)?\b/i },
  {
    feature: 'sampling',
    words: /temperature|top_p|\bseed\b|_penalty|reasoning_effort|\bstop\b/i,
  },
]

/** 404: OpenRouter. 500: llama.cpp, and servers that let a template's exception through. */
const STATUSES: ReadonlySet<number> = new Set([400, 404, 405, 415, 422, 500, 501])

/** A conversation that is too long has nothing to do with features. */
const OTHER_MATTERS =
  /context.{0,12}(length|window)|too (long|large|many tokens)|maximum.{0,30}tokens/i

/**
 * The feature of the request that the server refuses, judging by the error text; null: none.
 */
export function refusedFeature(
  { status, words }: { readonly status: number | null; readonly words: string },
  used: ReadonlySet<ModelFeature>,
): ModelFeature | null {
  if (status === null || !STATUSES.has(status) || OTHER_MATTERS.test(words)) return null
  const isRefusal = REFUSAL.test(words)
  const rule = RULES.find(({ feature, words: own, isEnough }) => {
    return used.has(feature) && own.test(words) && (isRefusal || isEnough === true)
  })
  return rule?.feature ?? null
}
