/** A job that is over: what came of it, and what can be done with it. */
import { useState } from 'preact/hooks'
import { changeJob, forgetJob } from '../../api/jobs.ts'
import type { Job } from '../../api/records.ts'
import { may } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Failure } from '../../components/failure.tsx'
import { JobState, LeftOut, wordsOf } from '../../components/job-progress.tsx'
import { useAction } from '../../components/resource.ts'
import { shownAge } from '../../format/numbers.ts'

interface OverJobProps {
  readonly job: Job
  readonly onChange: () => void
}

export function OverJob({ job, onChange }: OverJobProps) {
  const { act, failure, isBusy } = useAction()
  const [isDeleting, setIsDeleting] = useState(false)
  const change = async (how: () => Promise<unknown>) => {
    await act(async () => {
      await how()
      onChange()
    })
  }
  const isDone = job.state === 'done'
  const forget = () => {
    // One that is done is not needed any more; another could still go on.
    if (isDone) change(() => forgetJob(job.id))
    else setIsDeleting(true)
  }
  const buttons = [
    ...(isDone
      ? []
      : [
          { words: 'Continue', press: () => change(() => changeJob(job.id, 'resume')) },
          { words: 'Start over', press: () => change(() => changeJob(job.id, 'retry')) },
        ]),
    { words: 'Delete', press: forget },
  ]
  return (
    <section class="panel operations-job" aria-label={job.title}>
      <div class="row">
        <strong class="grow" dir="auto">
          {job.title}
        </strong>
        <JobState state={job.state} />
        {may('write') &&
          buttons.map(({ words, press }) => (
            <Button look="small" label={words} key={words} aria-disabled={isBusy} onClick={press} />
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
      <LeftOut job={job} />
      {failure && <Failure error={failure} />}
      {isDeleting && (
        <ConfirmDialog
          title={`Delete ${job.title}?`}
          verb="Delete"
          onClose={() => setIsDeleting(false)}
          onConfirm={async () => {
            await forgetJob(job.id)
            onChange()
          }}
        >
          <p>What it stored stays. It can no longer be continued.</p>
        </ConfirmDialog>
      )}
    </section>
  )
}
