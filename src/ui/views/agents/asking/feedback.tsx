/** What the reader thought of an answer: good or bad, and why. It stands in the trace. */
import { useState } from 'preact/hooks'
import { rateTrace } from '../../../api/agents.ts'
import { Button } from '../../../components/button.tsx'
import { useAction } from '../../../components/resource.ts'
import { tellDone, tellFailed } from '../../../shell/notices.tsx'
import type { TraceSummary } from './kept-turns.ts'

interface FeedbackProps {
  readonly traceId: string
  readonly summary: TraceSummary | undefined
}

const RATINGS = [
  [1, 'Good'],
  [-1, 'Bad'],
] as const

export function Feedback({ traceId, summary }: FeedbackProps) {
  const [given, setRating] = useState<number>()
  const [typed, setComment] = useState<string>()
  const rating = given ?? summary?.feedback?.rating
  const comment = typed ?? summary?.feedback?.comment ?? ''
  const [isAsking, setIsAsking] = useState(false)
  const { act, failure, isBusy } = useAction()
  const rate = async (next: number) => {
    try {
      await rateTrace(traceId, { rating: next, ...(comment === '' ? {} : { comment }) })
      setRating(next)
      setIsAsking(true)
    } catch (error) {
      tellFailed(error)
    }
  }
  const say = () => {
    void act(async () => {
      await rateTrace(traceId, { rating: rating ?? 0, comment })
      setIsAsking(false)
      tellDone('Thank you. It is saved in the trace')
    })
  }
  return (
    <fieldset class="row agents-feedback">
      <legend class="visually-hidden">Was this answer good?</legend>
      {RATINGS.map(([value, words]) => (
        <Button
          look="small quiet"
          label={words}
          key={value}
          aria-pressed={rating === value}
          onClick={() => void rate(value)}
        />
      ))}
      {isAsking && (
        <>
          <input
            aria-label="Why (optional)"
            placeholder="Why? (optional)"
            dir="auto"
            value={comment}
            onInput={(event) => setComment(event.currentTarget.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter' && !event.isComposing) say()
            }}
          />
          <Button look="small" label="Send" aria-disabled={isBusy} onClick={say} />
          {failure && <span class="bad">{failure.message}</span>}
        </>
      )}
    </fieldset>
  )
}
