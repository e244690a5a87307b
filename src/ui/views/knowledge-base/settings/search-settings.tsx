/** What searches of a knowledge base do unless they say otherwise, and the language of its words. */
import { useState } from 'preact/hooks'
import { DEFAULT_FUSION } from '../../../../domain/hybrid-search.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'
import { FusionField } from '../../../components/form/fusion-field.tsx'
import {
  DETECTED_LANGUAGE,
  LANGUAGE_CHOICES,
  languageName,
} from '../../../components/form/language-choices.ts'
import { SelectField } from '../../../components/form/select-field.tsx'
import { WeightField } from '../../../components/form/weight-field.tsx'
import { useAction } from '../../../components/resource.ts'
import { counted } from '../../../format/numbers.ts'
import { Costs } from './embedding-settings.tsx'
import { type SettingsPartProps, useSaving } from './saving.ts'

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
  const { act, failure, isBusy } = useAction()
  const save = useSaving(props, searchPart)
  const send = (event: SubmitEvent) => {
    event.preventDefault()
    // Defaults of the server stay its own: only what differs from what is stored now is sent.
    act(() => {
      return save(({ params: now }) => ({
        ...(language === '' || language === now.language ? {} : { language }),
        hybrid_search: isHybrid,
        ...(alpha === (now.hybrid_search_alpha ?? null) ? {} : { hybrid_search_alpha: alpha }),
        ...(fusion === (now.hybrid_search_fusion ?? DEFAULT_FUSION)
          ? {}
          : { hybrid_search_fusion: fusion }),
      }))
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
        <FusionField fusion={fusion} onChoose={(chosen) => setFusion(chosen ?? storedFusion)} />
        <SelectField
          label="Language of the content"
          hint="For keyword search"
          value={language}
          onChoose={setLanguage}
          options={stored === '' ? [DETECTED_LANGUAGE, ...LANGUAGE_CHOICES] : LANGUAGE_CHOICES}
        />
      </div>
      {params.keyword_index && (
        <p class="small" role="status">
          The keyword index is made again in {languageName(params.keyword_index.next_language)}.
          Searches use that in {languageName(params.keyword_index.language)} until it is done.
        </p>
      )}
      <Costs
        lines={[
          isOther
            ? `The keyword index of ${counted(props.chunks, 'chunk')} is rebuilt in the background, without calls. Searches use the current one meanwhile`
            : 'Costs nothing: applies from the next search on',
        ]}
      />
      {failure && <Failure error={failure} />}
      <div>
        <Button type="submit" look="primary" label="Save" aria-disabled={isBusy} />
      </div>
    </form>
  )
}
