/** A form that is sent: what was typed stays when it is refused. */
import { useState } from 'preact/hooks'

export function useSend() {
  const [failure, setFailure] = useState<Error>()
  const [isBusy, setIsBusy] = useState(false)
  const send = async (act: () => Promise<void>) => {
    setIsBusy(true)
    setFailure(undefined)
    try {
      await act()
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)))
    } finally {
      setIsBusy(false)
    }
  }
  return { failure, isBusy, send }
}

/** `a, b`: the names in it; null where it is empty: all. */
export function namesIn(text: string): readonly string[] | null {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  return names.length === 0 ? null : names
}
