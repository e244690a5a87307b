import type {
  Action,
  ActionsEvent,
  Citation,
  OutputEvent,
  Step,
  StepsEvent,
} from '../domain/completion-event.ts'

/** `messages` holds one object: here the reasoning and the call. */
export function actionsEvent(actions: readonly Action[], traceId: string): ActionsEvent {
  const log = actions.map((action) => action.log).join('\n')
  return { actions, messages: [{ content: log }], trace_id: traceId }
}

/** `messages` holds the observation. */
export function stepsEvent(steps: readonly Step[], traceId: string): StepsEvent {
  const observation = steps.map((step) => step.observation).join('\n')
  return { steps, messages: [{ content: observation }], trace_id: traceId }
}

export interface Answer {
  readonly content: string
  readonly traceId: string
  readonly citations: readonly Citation[]
  readonly warnings: readonly string[]
}

/** `messages` holds the answer. */
export function outputEvent({ content, traceId, citations, warnings }: Answer): OutputEvent {
  return { output: content, messages: [{ content }], trace_id: traceId, citations, warnings }
}
