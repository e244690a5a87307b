/** Fields for searches, languages and models that several forms share. */
import { FUSIONS, type Fusion } from '../../../core/domain/hybrid-search.ts'
import { LANGUAGES } from '../../../core/domain/language.ts'
import { Button } from '../button.tsx'
import { SelectField, TextField } from './field.tsx'

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

const MODE_CHOICES = [
  ['hybrid', 'Hybrid: meaning and keywords'],
  ['vector', 'Semantic: meaning'],
  ['keyword', 'Keyword'],
] as const

type SearchMode = (typeof MODE_CHOICES)[number][0]

interface ModeFieldProps {
  readonly mode: SearchMode
  readonly onChoose: (mode: SearchMode) => void
}

export function ModeField({ mode, onChoose }: ModeFieldProps) {
  const choose = (value: string) => {
    const found = MODE_CHOICES.find(([one]) => one === value)
    if (found) onChoose(found[0])
  }
  return <SelectField label="Search by" value={mode} onChoose={choose} options={MODE_CHOICES} />
}

/** How the semantic and the keyword ranking are combined. */
export function FusionField(props: {
  readonly fusion: string | null
  /** The text for null, if null can be chosen, such as `As set for the knowledge base`. */
  readonly otherwise?: string
  readonly onChoose: (fusion: Fusion | null) => void
}) {
  const { fusion, otherwise, onChoose } = props
  return (
    <SelectField
      label="Combine rankings by"
      value={fusion ?? ''}
      onChoose={(value) => onChoose(FUSIONS.find((one) => one === value) ?? null)}
      options={[...(otherwise === undefined ? [] : [['', otherwise] as const]), ...FUSION_CHOICES]}
    />
  )
}

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
