/** Which model, and how it is reached. */
import type { ModelChoice } from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { SelectField, TextField } from '../../../components/form/field.tsx'

interface ModelDraft {
  readonly provider: string
  readonly model: string
  readonly apiKey: string
  readonly baseUrl: string
}

export const EMPTY_MODEL: ModelDraft = { provider: '', model: '', apiKey: '', baseUrl: '' }

/** A stored secret as the API shows it; sent back, it means the stored one. */
const MASKED = '******'

/** Servers with one model, which needs no name. */
const NAMELESS = new Set(['tei', 'rerank'])

interface ModelInputsProps {
  readonly draft: ModelDraft
  readonly providers: readonly (readonly [string, string])[]
  readonly example: string
  /** Providers that need neither a name nor an address. */
  readonly plain: ReadonlySet<string>
  readonly onChange: (draft: ModelDraft) => void
}

export function ModelInputs({ draft, providers, example, plain, onChange }: ModelInputsProps) {
  const { provider } = draft
  return (
    <div class="grid">
      <SelectField
        label="Provider"
        value={provider}
        // A key belongs to the provider that it was typed for.
        onChoose={(value) => onChange({ ...EMPTY_MODEL, provider: value })}
        options={providers}
      />
      {!plain.has(provider) && (
        <>
          <TextField
            label="Model"
            required={!NAMELESS.has(provider)}
            placeholder={example}
            value={draft.model}
            onText={(text) => onChange({ ...draft, model: text })}
          />
          <TextField
            label="Key"
            hint="Stored encrypted. Leave empty to keep the stored one, or to use the server's."
            type="password"
            autocomplete="off"
            value={draft.apiKey}
            onText={(text) => onChange({ ...draft, apiKey: text })}
          />
          <TextField
            label="Address"
            hint="Leave empty for the provider's own address"
            type="url"
            placeholder="https://…/v1"
            value={draft.baseUrl}
            onText={(text) => onChange({ ...draft, baseUrl: text })}
          />
        </>
      )}
    </div>
  )
}

export function modelOf({ provider, model, apiKey, baseUrl }: ModelDraft): Partial<ModelChoice> {
  return {
    provider,
    ...(model.trim() === '' ? {} : { model_name: model.trim() }),
    ...(apiKey === '' ? {} : { api_key: apiKey }),
    ...(baseUrl.trim() === '' ? {} : { base_url: baseUrl.trim() }),
  }
}

/** The same with what no field shows: the options of the stored model, and its key at the address it was given for. */
export function changedModelOf(
  draft: ModelDraft,
  stored: KnowledgeBase['reranking_model'],
): Partial<ModelChoice> {
  if (stored?.provider !== draft.provider) return modelOf(draft)
  const { model_name: _name, api_key: key, base_url: url, ...options } = stored
  const isSameAddress = originOf(url ?? '') === originOf(draft.baseUrl.trim())
  const kept = Object.entries({ ...options, ...(key === '' ? {} : { api_key: MASKED }) })
  return {
    ...Object.fromEntries(kept.filter(([, value]) => isSameAddress || value !== MASKED)),
    // Without a name the server would take that of the stored model.
    model_name: '',
    ...modelOf(draft),
  }
}

function originOf(url: string): string {
  return URL.parse(url)?.origin ?? ''
}
