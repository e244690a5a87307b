/** One part of a knowledge base, saved unless somebody else has changed just that since it was read. */
import { useState } from 'preact/hooks'
import { refreshCatalog } from '../../../api/catalog.ts'
import { addressOfApi } from '../../../api/documents.ts'
import { getKnowledgeBase, type KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import type { KnowledgeBase } from '../../../api/records.ts'
import { request } from '../../../api/request.ts'
import { tellDone } from '../../../shell/notices.tsx'

export interface SettingsPartProps {
  readonly of: KnowledgeBaseName
  readonly kb: KnowledgeBase
  /** Called when it was saved: what is shown is read again. */
  readonly onSaved: () => void
}

/** What to change; a function gets what is stored now, where only differences are to be sent. */
type Changes = object | ((now: KnowledgeBase) => object)

/** @param partOf what a save replaces: the rest may change meanwhile, as metadata does with every insert */
export function useSaving(
  { of, kb, onSaved }: SettingsPartProps,
  partOf: (kb: KnowledgeBase) => unknown,
) {
  const [before, setBefore] = useState(() => JSON.stringify(partOf(kb)))
  /** @throws ApiError; Error where another window has changed it: the next call replaces that */
  return async (changes: Changes): Promise<void> => {
    const now = await getKnowledgeBase(of.project, of.name)
    const stored = JSON.stringify(partOf(now))
    if (stored !== before) {
      setBefore(stored)
      throw new Error(
        'It was changed elsewhere since you opened it. Save again to replace that with what you chose',
      )
    }
    const json = { knowledge_base: typeof changes === 'function' ? changes(now) : changes }
    await request(addressOfApi(of), { method: 'PUT', json })
    setBefore(JSON.stringify(partOf(await getKnowledgeBase(of.project, of.name))))
    tellDone('Saved')
    onSaved()
    // It is saved, whether the list of all can be read now or not.
    await refreshCatalog().catch(() => {})
  }
}
