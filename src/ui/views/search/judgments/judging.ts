/** The marks of a knowledge base: those that are saved, and those of this browser over them. */
import { useState } from 'preact/hooks'
import { useResource } from '../../../components/resource.ts'
import type { KnowledgeBaseAddress } from '../../knowledge-base/knowledge-base-frame.tsx'
import {
  type Judged,
  type Judgments,
  keepUnsaved,
  savedJudgments,
  saveJudgments,
  unsavedJudgments,
  withJudgments,
} from './judgments.ts'

export interface Judging {
  readonly all: Judgments
  readonly unsaved: Judgments
  readonly failure: Error | undefined
  readonly judge: (one: Judged) => void
  readonly gradeOf: (question: string, document: string) => number | null | undefined
  /** @throws ApiError */
  readonly save: () => Promise<void>
  readonly reload: () => void
}

export function useJudgments(place: KnowledgeBaseAddress): Judging {
  const { project, name } = place
  const saved = useResource((signal) => savedJudgments(place, signal), [project, name])
  const [unsaved, setUnsaved] = useState(() => unsavedJudgments(place))
  const all = withJudgments(saved.data ?? [], unsaved)
  return {
    all,
    unsaved,
    failure: saved.failure,
    judge: (one) => {
      const next = withJudgments(unsaved, [one])
      setUnsaved(next)
      keepUnsaved(place, next)
    },
    gradeOf: (question, document) => {
      return all.find((one) => one.question === question && one.document === document)?.grade
    },
    save: async () => {
      await saveJudgments(place, unsaved)
      setUnsaved([])
      saved.reload()
    },
    reload: saved.reload,
  }
}
