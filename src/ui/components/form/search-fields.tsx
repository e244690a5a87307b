/** Fields for searches, languages and models that several forms share. */
import type { Fusion } from '../../../core/domain/hybrid-search.ts'
import { LANGUAGES } from '../../../core/domain/language.ts'
import type { ModelChoice } from '../../api/knowledge-bases.ts'
import { Button } from '../button.tsx'
import { TextField } from './field.tsx'
import type { InputField, Values } from './form.tsx'

const SHOWN_FOR_AUTOMATIC = 0.5

/** The weight of semantic against keyword results in a hybrid search. */
export function WeightField(props: {
  /** 0 means keywords only, 1 semantic only, null automatic. */
  readonly alpha: number | null
  readonly onChange: (alpha: number | null) => void
}) {
  const { alpha, onChange } = props
  return (
    <TextField
      label={`Semantic weight: ${alpha === null ? 'automatic' : alpha.toFixed(2)}`}
      hint={
        alpha === null ? (
          'Left: keywords only, right: meaning only'
        ) : (
          <Button look="small" label="Back to automatic" onClick={() => onChange(null)} />
        )
      }
      type="range"
      min="0"
      max="1"
      step="0.05"
      value={alpha ?? SHOWN_FOR_AUTOMATIC}
      onText={(text) => onChange(Number(text))}
    />
  )
}

export const FUSION_CHOICES = [
  ['convex', 'Best possible scores (convex)'],
  ['scaled', 'Scores of the best 100 chunks (scaled)'],
  ['rrf', 'Ranks only (rrf)'],
] as const satisfies readonly (readonly [Fusion, string])[]

export const MODE_CHOICES = [
  ['hybrid', 'Hybrid: meaning and keywords'],
  ['vector', 'Semantic: meaning'],
  ['keyword', 'Keyword'],
] as const

/** The languages of keyword search, as field options. */
export const LANGUAGE_CHOICES = LANGUAGES.map((language) => {
  return [language, language === 'none' ? 'None: no stemming' : languageName(language)] as const
})

/** If no language is chosen, the server detects it from the documents. */
export const DETECTED_LANGUAGE = ['', 'Detected from the documents'] as const

export function languageName(language: string): string {
  return language.charAt(0).toUpperCase() + language.slice(1)
}

/** The providers of embedding models, as field options. */
export const EMBEDDING_PROVIDERS = [
  ['builtin', 'Built in: runs here, without a key'],
  ['openai', 'OpenAI, or a server with its API'],
  ['azure_openai', 'Azure OpenAI'],
  ['gemini', 'Gemini'],
  ['mistral', 'Mistral'],
  ['openrouter', 'OpenRouter'],
  ['together', 'Together'],
  ['ollama', 'Ollama'],
  ['lmstudio', 'LM Studio'],
  ['vllm', 'vLLM'],
  ['llamacpp', 'llama.cpp'],
  ['localai', 'LocalAI'],
  ['litellm', 'LiteLLM'],
] as const

/** Servers with a single model, which needs no name. */
const NAMELESS = new Set(['tei', 'rerank'])
/** Providers without a choice of name, key or address. */
export const PLAIN_PROVIDERS = new Set(['builtin', ''])

/** What becomes of a key field that is left empty, where a key is stored or not. */
export const KEPT_KEY =
  'Stored encrypted. Leave empty to keep the stored key, or to use the server’s'
const SERVER_KEY = 'Stored encrypted. Leave empty to use the server’s key'

/** The fields of a model: only the provider, unless it needs more. */
export function modelFields(
  { provider = '' }: Values,
  options: readonly (readonly [string, string])[],
  placeholder: string,
  keyHint = SERVER_KEY,
): readonly InputField[] {
  const choice: InputField = { name: 'provider', label: 'Provider', options }
  if (PLAIN_PROVIDERS.has(provider)) return [choice]
  return [
    choice,
    { name: 'model', label: 'Model', placeholder, isRequired: !NAMELESS.has(provider) },
    { name: 'key', label: 'Key', kind: 'password', hint: keyHint },
    {
      name: 'url',
      label: 'Address',
      kind: 'url',
      placeholder: 'https://…/v1',
      hint: 'Leave empty for the provider’s own address',
    },
  ]
}

export function modelOf({ provider = '', model = '', key = '', url = '' }: Values): ModelChoice {
  return {
    provider,
    ...(model.trim() === '' ? {} : { model_name: model.trim() }),
    ...(key === '' ? {} : { api_key: key }),
    ...(url.trim() === '' ? {} : { base_url: url.trim() }),
  }
}
