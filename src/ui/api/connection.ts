/** Whether the server answers. While it does not, it is asked again until it does. */
import { signal } from '@preact/signals'

const ASK_AGAIN_MS = 1000

/** Rises each time the server is back: whoever shows something of it loads that again. */
export const reconnections = signal(0)
export const isLost = signal(false)

export function noteReached(): void {
  if (!isLost.value) return
  isLost.value = false
  reconnections.value += 1
}

export function noteLost(): void {
  if (isLost.value) return
  isLost.value = true
  void askUntilBack()
}

async function askUntilBack(): Promise<void> {
  while (isLost.value) {
    await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN_MS))
    const isBack = await fetch('/api/util/ping').then(
      ({ ok }) => ok,
      () => false,
    )
    if (isBack) noteReached()
  }
}
