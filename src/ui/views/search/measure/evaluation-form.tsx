/** One setting, or two to compare. */
import { FUSIONS, SEARCH_MODES } from '../../../../domain/hybrid-search.ts'
import { projects } from '../../../api/catalog.ts'
import { Field } from '../../../components/field.tsx'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import { DEFAULT_SETTING, type EvaluationSetting } from './evaluation.ts'

interface EvaluationFormProps {
  readonly place: KnowledgeBaseAddress
  readonly settings: readonly EvaluationSetting[]
  readonly onChange: (settings: readonly EvaluationSetting[]) => void
}

export function EvaluationForm({ place, settings, onChange }: EvaluationFormProps) {
  const isCompared = settings.length > 1
  return (
    <div class="stack">
      <div class="search-compared">
        {settings.map((setting, index) => (
          <Setting
            key={index === 0 ? 'A' : 'B'}
            name={index === 0 ? 'A' : 'B'}
            place={place}
            setting={setting}
            onChange={(next) => onChange(settings.with(index, next))}
          />
        ))}
      </div>
      <label class="check">
        <input
          type="checkbox"
          checked={isCompared}
          onChange={() => {
            const other: EvaluationSetting = { ...DEFAULT_SETTING, mode: 'vector' }
            onChange(isCompared ? settings.slice(0, 1) : [...settings, other])
          }}
        />
        Compare with other settings
      </label>
    </div>
  )
}

interface SettingProps {
  readonly name: string
  readonly place: KnowledgeBaseAddress
  readonly setting: EvaluationSetting
  readonly onChange: (setting: EvaluationSetting) => void
}

const MODES = { hybrid: 'Both (hybrid)', vector: 'Meaning (vectors)', keyword: 'Words (keywords)' }

function Setting({ name, place, setting, onChange }: SettingProps) {
  const { knowledgeBase, mode, reranks } = setting
  const change = (part: Partial<EvaluationSetting>) => onChange({ ...setting, ...part })
  const project = projects.value?.find((one) => one.name === place.project)
  const all = project?.knowledgeBases ?? []
  const chosen = all.find((one) => one.name === (knowledgeBase ?? place.name))
  return (
    <fieldset class="search-settings panel">
      <legend>Settings {name}</legend>
      <Field label="Search by">
        {(control) => (
          <select
            {...control}
            value={mode}
            onChange={({ currentTarget: { value } }) => {
              change({ mode: SEARCH_MODES.find((one) => one === value) ?? 'hybrid' })
            }}
          >
            {SEARCH_MODES.map((one) => (
              <option key={one} value={one}>
                {MODES[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {mode === 'hybrid' && <HybridFields setting={setting} onChange={change} />}
      {all.length > 1 && (
        <Field label="Knowledge base" hint="One with the same documents, cut or embedded otherwise">
          {(control) => (
            <select
              {...control}
              value={knowledgeBase ?? place.name}
              onChange={({ currentTarget: { value } }) => {
                change({ knowledgeBase: value === place.name ? null : value, reranks: false })
              }}
            >
              {all.map((one) => (
                <option key={one.name}>{one.name}</option>
              ))}
            </select>
          )}
        </Field>
      )}
      {(chosen?.reranking_model != null || reranks) && (
        <label class="check">
          <input
            type="checkbox"
            checked={reranks}
            onChange={({ currentTarget: { checked } }) => change({ reranks: checked })}
          />
          Rerank
        </label>
      )}
    </fieldset>
  )
}

function HybridFields({
  setting: { alpha, fusion },
  onChange,
}: {
  readonly setting: EvaluationSetting
  readonly onChange: (part: Partial<EvaluationSetting>) => void
}) {
  return (
    <>
      <Field label="Weight of meaning, 0 to 1" hint="Empty: as it fits the text">
        {(control) => (
          <input
            {...control}
            type="number"
            min="0"
            max="1"
            step="any"
            value={alpha ?? ''}
            onInput={({ currentTarget: { value, validity } }) => {
              if (validity.valid) onChange({ alpha: value === '' ? null : Number(value) })
            }}
          />
        )}
      </Field>
      <Field label="Fusion">
        {(control) => (
          <select
            {...control}
            value={fusion ?? ''}
            onChange={({ currentTarget: { value } }) => {
              onChange({ fusion: FUSIONS.find((one) => one === value) ?? null })
            }}
          >
            <option value="">As the knowledge base says</option>
            {FUSIONS.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        )}
      </Field>
    </>
  )
}
