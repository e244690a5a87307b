/** Shows the progress of all uploads of a knowledge base. */
import { Button, Icon } from '../components/button.tsx'
import { Progress } from '../components/failure.tsx'
import { counted, shownBytes, shownDuration } from '../components/numbers.ts'
import { Section } from '../components/record-list.tsx'
import { addressOf } from '../shell/addresses.ts'
import { takeUnsent, unsent } from './unsent.ts'
import { resumeUnsent, type Sending, sendings } from './uploads.ts'

export function SendingProgress({ of }: { readonly of: Sending }) {
  return <Progress label={wordsOf(of)} done={of.bytesSent} total={of.bytes} />
}

/** The same for views that do not list files. A link leads to failed and waiting ones. */
export function SendingState({ of }: { readonly of: Sending }) {
  const { project, knowledgeBase, files, failed } = of
  return (
    <>
      {files > 0 && <SendingProgress of={of} />}
      {failed > 0 && (
        <a class="small bad" href={addressOf.addDocuments(project, knowledgeBase)}>
          {counted(failed, 'file')} not added
        </a>
      )}
    </>
  )
}

/** Shown over every view: files that a closed or reloaded page had not sent yet. */
export function UnsentFiles() {
  const left = unsent.value
  if (left.length === 0) return null
  const names = [...new Set(left.map(({ knowledgeBase }) => knowledgeBase))].join(', ')
  return (
    <div class="row banner" role="status">
      <Icon name="upload" />
      <span class="grow">
        {counted(left.length, 'file')} for {names} had not arrived when the page was closed
      </span>
      <Button look="primary small" label="Resume" onClick={resumeUnsent} />
      <Button look="small quiet" label="Discard" onClick={takeUnsent} />
    </div>
  )
}

/** Shows the uploads to all knowledge bases, for views that do not belong to one. */
export function SendingFiles() {
  const all = sendings()
  if (all.length === 0) return null
  return (
    <Section title="Uploads" class="panel stack">
      {all.map((one) => (
        <div key={`${one.project} ${one.knowledgeBase}`} class="stack">
          <a href={addressOf.addDocuments(one.project, one.knowledgeBase)}>{one.knowledgeBase}</a>
          <SendingState of={one} />
        </div>
      ))}
    </Section>
  )
}

/** No rate is shown before this, because it would be inaccurate. */
const RATE_AFTER_MS = 1500

/** Returns `128 of 300 files sent · 12.0 MB of 30.0 MB · 4.0 MB a second · 4.5 s left`. */
export function wordsOf({ files, filesSent, bytes, bytesSent, ms, isHeld }: Sending): string {
  const rate = ms < RATE_AFTER_MS || bytesSent === 0 ? undefined : (bytesSent / ms) * 1000
  const left = bytes - bytesSent
  return [
    `${filesSent} of ${counted(files, 'file')} sent`,
    `${shownBytes(bytesSent)} of ${shownBytes(bytes)}`,
    ...(isHeld
      ? ['continues when the server is back']
      : left === 0 && filesSent < files
        ? ['being read']
        : rate === undefined || left === 0
          ? []
          : [`${shownBytes(rate)} a second`, `${shownDuration((left / rate) * 1000)} left`]),
  ].join(' · ')
}
