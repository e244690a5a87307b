/** A job that is over: what came of it, and what can be done with it. */
import { useState } from 'preact/hooks'
import { changeJob, forgetJob } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { JobState, wordsOf } from '../../components/job-progress.tsx'
import { counted, shownAge } from '../../format/numbers.ts'
import { tellFailed } from '../../shell/notices.tsx'

interface OverJobProps {
  readonly job: Job
  readonly onChange: () => void
}

export function OverJob({ job, onChange }: OverJobProps) {
  const [isBusy, setIsBusy] = useState(false)
  const change = async (how: () => Promise<unknown>) => {
    if (isBusy) return
    setIsBusy(true)
    try {
      await how()
      onChange()
    } catch (error) {
      tellFailed(error)
    } finally {
      setIsBusy(false)
    }
  }
  const buttons = [
    ...(job.state === 'done'
      ? []
      : [
          { words: 'Go on', act: () => changeJob(job.id, 'resume') },
          { words: 'Start over', act: () => changeJob(job.id, 'retry') },
        ]),
    { words: 'Forget', act: () => forgetJob(job.id) },
  ]
  return (
    <section class="panel operations-job" aria-label={job.title}>
      <div class="row">
        <strong class="grow" dir="auto">
          {job.title}
        </strong>
        <JobState state={job.state} />
        {may('write') &&
          buttons.map(({ words, act }) => (
            <button
              key={words}
              type="button"
              class="button small"
              aria-disabled={isBusy}
              onClick={() => change(act)}
            >
              {words}
            </button>
          ))}
      </div>
      <p class="small quiet">
        <span dir="auto">{job.project}</span> · {wordsOf(job)} ·{' '}
        {shownAge(job.created_at, Date.now())}
      </p>
      {job.error !== null && (
        <p class="small pre bad" dir="auto">
          {job.error}
        </p>
      )}
      {job.error_count > 0 && (
        <details>
          <summary class="small bad">{counted(job.error_count, 'item')} left out</summary>
          <ul class="operations-list small">
            {job.errors.map(({ item, message }, index) => (
              <li key={`${index} ${item}`}>
                <strong dir="auto">{item}</strong>: <span dir="auto">{message}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  )
}
