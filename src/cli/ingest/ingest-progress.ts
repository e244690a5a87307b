/** How far an ingest is: a bar on a terminal, a line every ten seconds elsewhere, nothing where it shall be quiet. */
import type { SingleBar } from 'cli-progress'
import type { Output } from '../output.ts'
import { truncated } from '../terminal-text.ts'
import type { IngestCounts } from './send-files.ts'

const LINE_MS = 10_000

export interface Progress {
  step(what: string): void
  stop(): void
}

interface Total {
  readonly files: number
  readonly counts: IngestCounts
}

export async function progressOf(total: Total, output: Output): Promise<Progress> {
  if (output.isQuiet || total.files === 0) return { step: () => {}, stop: () => {} }
  return process.stderr.isTTY === true ? bar(total) : lines(total, output)
}

async function bar({ files, counts }: Total): Promise<Progress> {
  const { default: cliProgress } = await import('cli-progress')
  const startedAt = performance.now()
  const shown: SingleBar = new cliProgress.SingleBar({
    format: '{bar} {percentage}% {value}/{total} files  {rate} chunks/s  {left}  {what}',
    barCompleteChar: '█',
    barIncompleteChar: '░',
    barsize: 24,
    hideCursor: true,
    clearOnComplete: true,
    linewrap: false,
    stream: process.stderr,
    fps: 8,
  })
  let done = 0
  shown.start(files, 0, { rate: '0', left: '', what: '' })
  return {
    step(what) {
      done += 1
      const seconds = (performance.now() - startedAt) / 1000
      const rate = (counts.chunks / seconds).toFixed(0)
      const room = Math.max(10, (process.stderr.columns ?? 80) - 76)
      shown.update(done, {
        rate,
        left: leftText({ done, files, seconds }),
        what: truncated(what, room),
      })
    },
    stop: () => shown.stop(),
  }
}

function lines({ files, counts }: Total, output: Output): Progress {
  const startedAt = performance.now()
  let last = startedAt
  let done = 0
  return {
    step() {
      done += 1
      const now = performance.now()
      if (now - last < LINE_MS) return
      last = now
      const seconds = (now - startedAt) / 1000
      const rate = (counts.chunks / seconds).toFixed(0)
      const left = leftText({ done, files, seconds })
      output.say(`${done}/${files} files, ${counts.chunks} chunks, ${rate} chunks/s, ${left}`)
    },
    stop: () => {},
  }
}

/** Files differ in size: it is an estimate from the mean so far. */
function leftText({
  done,
  files,
  seconds,
}: {
  readonly done: number
  readonly files: number
  readonly seconds: number
}): string {
  if (seconds < 1) return ''
  const left = Math.ceil((seconds / done) * (files - done))
  if (left < 100) return `${left} s left`
  if (left < 6000) return `${Math.ceil(left / 60)} min left`
  return `${(left / 3600).toFixed(1)} h left`
}
