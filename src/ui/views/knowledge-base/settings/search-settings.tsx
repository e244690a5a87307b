/** What searches of a knowledge base do unless they say otherwise, and the language of its words. */
import { useState } from 'preact/hooks'
import { DEFAULT_FUSION, FUSIONS, type Fusion } from '../../../../domain/hybrid-search.ts'
import { LANGUAGES } from '../../../../domain/language.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { Failure } from '../../../components/failure.tsx'
import { Field } from '../../../components/field.tsx'
import { useAction } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { Costs } from './embedding-settings.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

const FUSION_WORDS: Readonly<Record<Fusion, string>> = {
  convex: 'Weighted, each by what it can be at all',
  scaled: 'Weighted, each by its best hundred chunks',
  rrf: 'By ranks alone (RRF)',
}

/** What a save replaces. */
function searchPart({ params }: KnowledgeBase) {
  const { language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion } = params
  return [language, hybrid_search, hybrid_search_alpha, hybrid_search_fusion]
}

export function SearchSettings(props: SettingsPartProps & { readonly chunks: number }) {
  const { params } = props.kb
  const stored = params.language ?? ''
  const [language, setLanguage] = useState(stored)
  const [isHybrid, setIsHybrid] = useState(params.hybrid_search ?? false)
  const storedAlpha = params.hybrid_search_alpha ?? null
  const storedFusion = params.hybrid_search_fusion ?? DEFAULT_FUSION
  const [alpha, setAlpha] = useState(storedAlpha)
  const [fusion, setFusion] = useState(storedFusion)
  // What was saved here counts before it is read again.
  const [known, setKnown] = useState({ alpha: storedAlpha, fusion: storedFusion })
  const { act, failure, isBusy } = useAction()
  const save = useSaving(props, searchPart)
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    act(async () => {
      await save({
        ...(language === '' || language === stored ? {} : { language }),
        hybrid_search: isHybrid,
        ...(alpha === known.alpha ? {} : { hybrid_search_alpha: alpha }),
        ...(fusion === known.fusion ? {} : { hybrid_search_fusion: fusion }),
      })
      setKnown({ alpha, fusion })
    })
  }
  const isOther = language !== '' && language !== stored
  return (
    <form class="panel stack" onSubmit={send} aria-label="Searches">
      <h2>Searches</h2>
      <label class="check">
        <input
          type="checkbox"
          checked={isHybrid}
          onChange={(event) => setIsHybrid(event.currentTarget.checked)}
        />
        By meaning and keywords, unless a search says otherwise
      </label>
      <div class="grid">
        <WeightField alpha={alpha} onChange={setAlpha} />
        <Field label="How both become one order">
          {(control) => (
            <select
              {...control}
              value={fusion}
              onChange={(event) => setFusion(event.currentTarget.value)}
            >
              {FUSIONS.map((one) => (
                <option key={one} value={one}>
                  {FUSION_WORDS[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <LanguageField stored={stored} language={language} onChange={setLanguage} />
      </div>
      {params.keyword_index && (
        <p class="small" role="status">
          The keyword index is made again in {titleOf(params.keyword_index.next_language)}. Searches
          use that in {titleOf(params.keyword_index.language)} until it is done.
        </p>
      )}
      <Costs
        lines={[
          isOther
            ? `The keyword index of ${counted(props.chunks, 'chunk')} is made again in the background, without calls. Searches use the present one meanwhile`
            : 'Costs nothing: it counts from the next search on',
        ]}
      />
      {failure && <Failure error={failure} />}
      <div>
        <button type="submit" class="button primary" aria-disabled={isBusy}>
          Save
        </button>
      </div>
    </form>
  )
}

interface WeightFieldProps {
  /** Null: automatic. */
  readonly alpha: number | null
  readonly onChange: (alpha: number | null) => void
}

function WeightField({ alpha, onChange }: WeightFieldProps) {
  return (
    <Field
      label={`Weight of the meaning: ${alpha === null ? 'automatic' : alpha.toFixed(2)}`}
      hint={
        alpha === null ? (
          '0: keywords alone, 1: meaning alone'
        ) : (
          <button type="button" class="button small" onClick={() => onChange(null)}>
            Automatic again
          </button>
        )
      }
    >
      {(control) => (
        <input
          {...control}
          type="range"
          min="0"
          max="1"
          step="0.05"
          value={alpha ?? 0.5}
          onInput={(event) => onChange(Number(event.currentTarget.value))}
        />
      )}
    </Field>
  )
}

interface LanguageFieldProps {
  readonly stored: string
  readonly language: string
  readonly onChange: (language: string) => void
}

function LanguageField({ stored, language, onChange }: LanguageFieldProps) {
  return (
    <Field label="Language of the content" hint="For the search by keywords">
      {(control) => (
        <select
          {...control}
          value={language}
          onChange={(event) => onChange(event.currentTarget.value)}
        >
          {stored === '' && <option value="">Learned from the documents</option>}
          {LANGUAGES.map((one) => (
            <option key={one} value={one}>
              {one === 'none' ? 'None: words as they are' : titleOf(one)}
            </option>
          ))}
        </select>
      )}
    </Field>
  )
}

function titleOf(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}
