/** What the forms share that begin an insert: it is sent once, and what fails stands in the form, which keeps what was typed. */
import { useState } from 'preact/hooks'
import { type Insert, insertInBackground } from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'

/** What each of the ways in is told. */
export interface WayInProps extends KnowledgeBaseAddress {
  readonly onBegun: (job: Job) => void
}

export function useBegin({ project, name, onBegun }: WayInProps) {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  /** @returns whether it has begun */
  const begin = async (insert: Insert): Promise<boolean> => {
    setFailure(undefined)
    setIsBusy(true)
    try {
      onBegun(await insertInBackground(project, name, insert))
      return true
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)))
      return false
    } finally {
      setIsBusy(false)
    }
  }
  return { begin, failure, isBusy }
}
