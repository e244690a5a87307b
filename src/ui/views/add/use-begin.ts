/** What the forms share that begin an insert: it is sent once, and what fails stands in the form, which keeps what was typed. */
import { type Insert, insertInBackground } from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { useAction } from '../../components/resource.ts'
import type { KnowledgeBaseAddress } from '../knowledge-base/knowledge-base-frame.tsx'

/** What each of the ways in is told. */
export interface WayInProps extends KnowledgeBaseAddress {
  readonly onBegun: (job: Job) => void
}

export function useBegin({ project, name, onBegun }: WayInProps) {
  const { act, failure, isBusy } = useAction()
  /** @returns whether it has begun */
  const begin = (insert: Insert): Promise<boolean> => {
    return act(async () => onBegun(await insertInBackground(project, name, insert)))
  }
  return { begin, failure, isBusy }
}
