/** The progress of a knowledge base's uploads, all together. */
import { Button } from '../components/button.tsx'
import { Progress } from '../components/failure.tsx'
import { counted, shownBytes, shownDuration } from '../components/numbers.ts'
import { addressOf } from '../shell/addresses.ts'
import { takeUnsent, unsent } from './unsent.ts'
import { resumeUnsent, type Sending, sendings } from './uploads.ts'

export function SendingProgress({ of }: { readonly of: Sending }) {
  return <Progress label={wordsOf(of)} done={of.bytesSent} total={of.bytes} />
}

/** The same where its files are not listed: failed and waiting ones are one click away. */
export function SendingState({ of }: { readonly of: Sending }) {
  const { project, knowledgeBase, files, failed } = of
  return (
    <>
      {files > 0 && <SendingProgress of={of} />}
      {failed > 0 && (
        <a class="small bad" href={addressOf.addDocuments(project, knowledgeBase)}>
          {counted(failed, 'file')} not added yet
        </a>
      )}
    </>
  )
}

/** Uploads of all knowledge bases, for views that show no single one. */
export function SendingFiles() {
  const all = sendings()
  const left = unsent.value
  if (all.length + left.length === 0) return null
  return (
    <section class="panel stack" aria-label="Files on their way">
      <h2>Files on their way</h2>
      {left.length > 0 && (
        <div class="row">
          <span class="grow" dir="auto">
            {counted(left.length, 'file')} for{' '}
            {[...new Set(left.map(({ knowledgeBase }) => knowledgeBase))].join(', ')} had not
            arrived when the page was closed
          </span>
          <Button look="primary small" label="Resume" onClick={resumeUnsent} />
          <Button look="small quiet" label="Discard" onClick={takeUnsent} />
        </div>
      )}
      {all.map((one) => (
        <div key={`${one.project} ${one.knowledgeBase}`}>
          <a dir="auto" href={addressOf.addDocuments(one.project, one.knowledgeBase)}>
            {one.knowledgeBase}
          </a>
          <SendingState of={one} />
        </div>
      ))}
    </section>
  )
}

/** Before this, a rate means nothing. */
const RATE_AFTER_MS = 1500

/** `128 of 300 files sent · 12.0 MB of 30.0 MB · 4.0 MB a second · 4.5 s left`. */
export function wordsOf({ files, filesSent, bytes, bytesSent, ms, isHeld }: Sending): string {
  const rate = ms < RATE_AFTER_MS || bytesSent === 0 ? undefined : (bytesSent / ms) * 1000
  const left = bytes - bytesSent
  return [
    `${filesSent} of ${counted(files, 'file')} sent`,
    `${shownBytes(bytesSent)} of ${shownBytes(bytes)}`,
    ...(isHeld
      ? ['continues when the server answers']
      : rate === undefined || left === 0
        ? []
        : [`${shownBytes(rate)} a second`, `${shownDuration((left / rate) * 1000)} left`]),
  ].join(' · ')
}
