/** What the forms share that begin an insert: it is sent once, and what fails stands in the form, which keeps what was typed. */
import { watchJob } from '../../api/jobs.ts'
import {
  type Insert,
  insertInBackground,
  type KnowledgeBaseName,
} from '../../api/knowledge-bases.ts'
import type { Job } from '../../api/records.ts'
import { useAction } from '../../components/resource.ts'

/** What each of the ways in is told. */
export interface WayInProps extends KnowledgeBaseName {
  readonly onBegun: (job: Job) => void
}

export function useBegin({ project, name, onBegun }: WayInProps) {
  const { act, failure, isBusy } = useAction()
  /**
   * @param onStored called when all of it was stored, also after the form was left
   * @returns whether it has begun
   */
  const begin = (insert: Insert, onStored?: () => void): Promise<boolean> => {
    return act(async () => {
      const job = await insertInBackground(project, name, insert)
      onBegun(job)
      if (onStored !== undefined) void afterStored(job, onStored)
    })
  }
  return { begin, act, failure, isBusy }
}

async function afterStored({ id }: Job, onStored: () => void): Promise<void> {
  const note = ({ state, error_count: leftOut }: Job) => {
    if (state === 'done' && leftOut === 0) onStored()
  }
  // How it ends is shown in the list of jobs.
  await watchJob(id, note, new AbortController().signal).catch(() => {})
}
