/** Where a question is typed. What was typed is kept in this window until it is under way. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { asError } from '../../../api/request.ts'
import { Failure } from '../../../components/failure.tsx'
import { Icon } from '../../../components/icon.tsx'

interface ComposerProps {
  /** Under which name the draft is kept. */
  readonly place: string
  readonly isRunning: boolean
  readonly onAsk: (question: string, begun: () => void) => Promise<void>
  readonly onStop: () => void
}

export function Composer({ place, isRunning, onAsk, onStop }: ComposerProps) {
  const key = `eider.question.${place}`
  const [text, setText] = useState(() => sessionStorage.getItem(key) ?? '')
  const [failure, setFailure] = useState<Error>()
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => field.current?.focus(), [])
  const type = (next: string) => {
    setText(next)
    sessionStorage.setItem(key, next)
  }
  const send = async () => {
    const question = text.trim()
    if (question === '' || isRunning) return
    setFailure(undefined)
    setText('')
    try {
      await onAsk(question, () => sessionStorage.removeItem(key))
    } catch (error) {
      setFailure(asError(error))
      type(question)
    }
  }
  return (
    <form
      class="agents-composer"
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
        rows={3}
        dir="auto"
        placeholder="Ask something"
        value={text}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          void send()
        }}
      />
      <div class="row end">
        <span class="small quiet grow">Enter asks, Shift+Enter begins a line</span>
        {isRunning ? (
          <button type="button" class="button" onClick={onStop}>
            <Icon name="stop" /> Stop
          </button>
        ) : (
          <button type="submit" class="button primary" disabled={text.trim() === ''}>
            Ask
          </button>
        )}
      </div>
    </form>
  )
}
