/** The marks of a knowledge base: those that are saved, and those of this browser over them. */
import { useMemo, useState } from 'preact/hooks'
import type { KnowledgeBaseName } from '../../../api/knowledge-bases.ts'
import { useResource } from '../../../components/resource.ts'
import {
  type Judged,
  type Judgments,
  keepUnsaved,
  keyOfJudged,
  savedJudgments,
  saveJudgments,
  unsavedJudgments,
  withJudgments,
} from './judgments.ts'

export interface Judging {
  readonly all: Judgments
  readonly unsaved: Judgments
  readonly failure: Error | undefined
  readonly isLoading: boolean
  readonly judge: (one: Judged) => void
  readonly gradeOf: (question: string, document: string) => number | null | undefined
  /** @throws ApiError */
  readonly save: () => Promise<void>
  readonly reload: () => void
}

export function useJudgments(place: KnowledgeBaseName): Judging {
  const { project, name } = place
  const saved = useResource((signal) => savedJudgments(place, signal), [project, name])
  const [unsaved, setUnsaved] = useState(() => unsavedJudgments(place))
  const all = useMemo(() => withJudgments(saved.data ?? [], unsaved), [saved.data, unsaved])
  const grades = useMemo(() => new Map(all.map((one) => [keyOfJudged(one), one.grade])), [all])
  return {
    all,
    unsaved,
    failure: saved.failure,
    isLoading: saved.isLoading && saved.data === undefined,
    judge: (one) => {
      // Read anew: another tab may have marked something meanwhile.
      const next = withJudgments(unsaved, [...unsavedJudgments(place), one])
      setUnsaved(next)
      keepUnsaved(place, next)
    },
    gradeOf: (question, document) => grades.get(keyOfJudged({ question, document })),
    save: async () => {
      await saveJudgments(place, unsaved)
      // What was marked while it was saved stays.
      setUnsaved(unsavedJudgments(place))
      saved.reload()
    },
    reload: saved.reload,
  }
}
