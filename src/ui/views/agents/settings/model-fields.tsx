/** Which model an agent has, and how it is reached. */
import { SelectField } from '../../../components/form/select-field.tsx'
import { TextField } from '../../../components/form/text-field.tsx'
import { type AgentDraft, MASKED } from './agent-draft.ts'

const PROVIDERS = [
  ['', "The server's default, or the built-in one"],
  ['builtin', 'Built in: quotes what it finds'],
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
  const isListed = PROVIDERS.some(([value]) => value === provider)
  const keyHint =
    apiKey === MASKED
      ? 'One is stored. It stays unless you type another one.'
      : 'Best set on the server. A key typed here is stored encrypted.'
  return (
    <fieldset class="agent-fields">
      <legend>Model</legend>
      <SelectField
        label="Provider"
        value={provider}
        onChoose={(value) => {
          // A key belongs to the provider that it was given for.
          const storedKey = value === keyedProvider ? MASKED : ''
          const isTyped = apiKey !== '' && apiKey !== MASKED
          onChange({ provider: value, ...(isTyped ? {} : { apiKey: storedKey }) })
        }}
        options={isListed ? PROVIDERS : [...PROVIDERS, provider]}
      />
      {provider !== '' && provider !== 'builtin' && (
        <>
          <TextField
            label="Model name"
            hint="As the provider lists it"
            required
            autocomplete="off"
            value={modelName}
            onText={(text) => onChange({ modelName: text })}
          />
          <TextField
            label="API key"
            hint={keyHint}
            type="password"
            autocomplete="new-password"
            value={apiKey}
            onFocus={(event) => event.currentTarget.select()}
            onText={(text) => onChange({ apiKey: text })}
          />
          <TextField
            label="Address"
            hint="Only for your own or a compatible server"
            type="url"
            placeholder="http://127.0.0.1:9000/v1"
            value={baseUrl}
            onText={(text) => onChange({ baseUrl: text })}
          />
        </>
      )}
    </fieldset>
  )
}
