/** Which model an agent has, and how it is reached. */
import { Field } from '../../../components/field.tsx'
import { type AgentDraft, MASKED } from './agent-draft.ts'

const PROVIDERS = [
  ['', 'The one of the server, else the built-in one'],
  ['builtin', 'The built-in one, which quotes'],
  ['openai', 'OpenAI, or a server with its API'],
  ['anthropic', 'Anthropic'],
  ['gemini', 'Gemini'],
  ['mistral', 'Mistral'],
  ['groq', 'Groq'],
  ['deepseek', 'DeepSeek'],
  ['openrouter', 'OpenRouter'],
  ['together', 'Together'],
  ['ollama', 'Ollama'],
  ['vllm', 'vLLM'],
  ['llamacpp', 'llama.cpp'],
  ['lmstudio', 'LM Studio'],
] as const

interface ModelFieldsProps {
  readonly draft: AgentDraft
  readonly onChange: (changes: Partial<AgentDraft>) => void
  /** Whose key is stored. */
  readonly keyedProvider: string | undefined
}

export function ModelFields({ draft, onChange, keyedProvider }: ModelFieldsProps) {
  const { provider, modelName, apiKey, baseUrl } = draft
  const keyHint =
    apiKey === MASKED
      ? 'One is stored. It stays unless you type another'
      : 'Best a setting of the server; typed here it is stored encrypted'
  return (
    <fieldset class="agent-fields">
      <legend>Model</legend>
      <Field label="Provider">
        {(control) => (
          <select
            {...control}
            value={provider}
            onChange={({ currentTarget: { value } }) => {
              // A key belongs to the provider that it was given for.
              const storedKey = value === keyedProvider ? MASKED : ''
              const isTyped = apiKey !== '' && apiKey !== MASKED
              onChange({ provider: value, ...(isTyped ? {} : { apiKey: storedKey }) })
            }}
          >
            {PROVIDERS.map(([value, words]) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
            {PROVIDERS.every(([value]) => value !== provider) && <option>{provider}</option>}
          </select>
        )}
      </Field>
      {provider !== '' && provider !== 'builtin' && (
        <>
          <Field label="Model name" hint="As the provider lists it">
            {(control) => (
              <input
                {...control}
                required
                autocomplete="off"
                value={modelName}
                onInput={(event) => onChange({ modelName: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="API key" hint={keyHint}>
            {(control) => (
              <input
                {...control}
                type="password"
                autocomplete="new-password"
                value={apiKey}
                onFocus={(event) => event.currentTarget.select()}
                onInput={(event) => onChange({ apiKey: event.currentTarget.value })}
              />
            )}
          </Field>
          <Field label="Address" hint="Only for a server of your own or a compatible one">
            {(control) => (
              <input
                {...control}
                type="url"
                placeholder="http://127.0.0.1:9000/v1"
                value={baseUrl}
                onInput={(event) => onChange({ baseUrl: event.currentTarget.value })}
              />
            )}
          </Field>
        </>
      )}
    </fieldset>
  )
}
