/** The field for a question. Its text is stored in this window until it is sent. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { refreshCatalog } from '../../../api/catalog.ts'
import { ApiError, asError } from '../../../api/request.ts'
import { draftAt, keepDraft } from '../../../components/browser-storage.ts'
import { Button } from '../../../components/button.tsx'
import { Failure } from '../../../components/failure.tsx'

const ROWS_MAX = 10

interface ComposerProps {
  readonly place: string
  readonly isRunning: boolean
  /** Calls `begun` with the conversation's new place once the question has started. */
  readonly onAsk: (question: string, begun: (place: string) => void) => Promise<void>
  readonly onStop: () => void
  /** Scrolls to the newest turn; missing if that is visible. */
  readonly onDown: (() => void) | undefined
}

export function Composer({ place, isRunning, onAsk, onStop, onDown }: ComposerProps) {
  const [text, setText] = useState(() => draftAt(place))
  const [failure, setFailure] = useState<Error>()
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    // Not on a touch screen, where a focused field would open the keyboard although most users open
    // a conversation to read it.
    if (matchMedia('(hover: hover)').matches) field.current?.focus({ preventScroll: true })
  }, [])
  const type = (next: string) => {
    setText(next)
    keepDraft(place, next)
  }
  const send = async () => {
    const question = text.trim()
    if (question === '' || isRunning) return
    setFailure(undefined)
    setText('')
    try {
      await onAsk(question, (movedTo) => {
        // Keeps the next question, if it has already been typed.
        const next = draftAt(place)
        keepDraft(place, '')
        if (next.trim() !== question) keepDraft(movedTo, next)
      })
    } catch (error) {
      const next = draftAt(place)
      type(next.trim() === question || next === '' ? question : `${question}\n${next}`)
      const isStopped = error instanceof DOMException && error.name === 'AbortError'
      if (!isStopped) setFailure(inWords(asError(error)))
      const isGone = error instanceof ApiError && error.code === 'agent_not_found'
      if (isGone) await refreshCatalog().catch(() => {})
    }
  }
  return (
    <form
      class="list agents-composer"
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {failure && <Failure error={failure} />}
      <label class="visually-hidden" for="agents-question">
        Your question
      </label>
      <textarea
        id="agents-question"
        ref={field}
        rows={Math.min(ROWS_MAX, Math.max(2, text.split('\n').length))}
        dir="auto"
        placeholder="Ask something"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape' && isRunning) onStop()
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          void send()
        }}
      />
      <div class="row end">
        <span class="small quiet grow">
          {isRunning ? 'Escape stops' : 'Enter asks, Shift+Enter starts a new line'}
        </span>
        {onDown && <Button icon="down" label="Newest" onClick={onDown} />}
        {isRunning ? (
          <Button icon="stop" label="Stop" onClick={onStop} />
        ) : (
          <Button type="submit" look="primary" label="Ask" disabled={text.trim() === ''} />
        )}
      </div>
    </form>
  )
}

/** Rewords the server's message, which is for API clients, for users of this page. */
function inWords(error: Error): Error {
  if (!(error instanceof ApiError) || error.code !== 'conversation_busy') return error
  const { code, status, title } = error
  const message =
    'A question from another window is running here. Wait for its answer, or start a new conversation'
  return new ApiError({ code, status, title, message })
}

interface Held {
  readonly question: string
  readonly ask: () => void
  readonly stop: () => void
}

/** Holds a question while files are being read, because they may contain its answer. */
export function useHeldQuestion(isReading: boolean) {
  const [held, setHeld] = useState<Held>()
  const latest = useRef(isReading)
  latest.current = isReading
  useEffect(() => {
    if (!isReading) held?.ask()
  }, [isReading, held])
  const untilRead = async (question: string) => {
    if (!latest.current) return
    try {
      await new Promise<void>((ask, reject) => {
        const stop = () => reject(new DOMException('Stopped', 'AbortError'))
        setHeld({ question, ask, stop })
      })
    } finally {
      setHeld(undefined)
    }
  }
  return { held, untilRead }
}

export function HeldQuestion({ of: { question, ask } }: { readonly of: Held }) {
  return (
    <article class="stack agents-turn">
      <h2 class="banner agents-question pre">{question}</h2>
      <div class="row">
        <span class="grow small quiet" role="status">
          Waiting until your files have been read
        </span>
        <Button look="small" label="Ask now" onClick={ask} />
      </div>
    </article>
  )
}
