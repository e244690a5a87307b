/** One setting, or two to compare. */
import { SEARCH_MODES } from '../../../../core/domain/hybrid-search.ts'
import { projects } from '../../../api/catalog.ts'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { Check, SelectField, TextField } from '../../../components/form/field.tsx'
import { FusionField } from '../../../components/form/search-fields.tsx'
import { DEFAULT_SETTING, type EvaluationSetting } from './evaluation.ts'

interface EvaluationFormProps {
  readonly place: KnowledgeBaseName
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
      <Check
        checked={isCompared}
        onCheck={() => {
          const other: EvaluationSetting = { ...DEFAULT_SETTING, mode: 'vector' }
          onChange(isCompared ? settings.slice(0, 1) : [...settings, other])
        }}
      >
        Compare with other settings
      </Check>
    </div>
  )
}

interface SettingProps {
  readonly name: string
  readonly place: KnowledgeBaseName
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
      <SelectField
        label="Search by"
        value={mode}
        onChoose={(value) => {
          change({ mode: SEARCH_MODES.find((one) => one === value) ?? 'hybrid' })
        }}
        options={SEARCH_MODES.map((one) => [one, MODES[one]] as const)}
      />
      {mode === 'hybrid' && <HybridFields setting={setting} onChange={change} />}
      {all.length > 1 && (
        <SelectField
          label="Knowledge base"
          hint="One with the same documents, split or embedded differently"
          value={knowledgeBase ?? place.name}
          onChoose={(value) => {
            change({ knowledgeBase: value === place.name ? null : value, reranks: false })
          }}
          options={all.map((one) => one.name)}
        />
      )}
      {(chosen?.reranking_model != null || reranks) && (
        <Check checked={reranks} onCheck={(isChecked) => change({ reranks: isChecked })}>
          Rerank
        </Check>
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
      <TextField
        label="Weight of meaning, 0 to 1"
        hint="Leave empty to have it chosen for each text"
        type="number"
        min="0"
        max="1"
        step="any"
        value={alpha ?? ''}
        onText={(text, { validity }) => {
          if (validity.valid) onChange({ alpha: text === '' ? null : Number(text) })
        }}
      />
      <FusionField
        fusion={fusion}
        otherwise="As set for the knowledge base"
        onChoose={(chosen) => onChange({ fusion: chosen })}
      />
    </>
  )
}
