/** The address of a map as a view changes it. */
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'

/** Null takes a word out of the address. */
type Change = Readonly<Record<string, string | null>>

interface MapAddressing {
  readonly query: Readonly<Record<string, string>>
  /** A step that Back undoes. */
  readonly change: (change: Change) => void
  /** Which part is seen: Back does not go through every move. */
  readonly look: (text: string | null) => void
  /** Leaves, with what is seen kept for Back. */
  readonly leave: (to: string) => void
}

/** After the last move: browsers refuse an address that changes with every frame. */
const SETTLED_MS = 250

export function useMapAddress(): MapAddressing {
  const { query, route } = useLocation()
  const waiting = useRef<{ timer: number; text: string | null } | null>(null)
  const write = () => {
    const { current } = waiting
    if (current === null) return
    clearTimeout(current.timer)
    waiting.current = null
    history.replaceState(null, '', addressWith({ at: current.text }))
  }
  useEffect(() => {
    return () => {
      clearTimeout(waiting.current?.timer)
      // Nothing is written any more: the address is that of another view.
      waiting.current = null
    }
  }, [])
  return {
    query,
    change: (change) => {
      write()
      route(addressWith(change))
    },
    look: (text) => {
      clearTimeout(waiting.current?.timer)
      waiting.current = { timer: window.setTimeout(write, SETTLED_MS), text }
    },
    leave: (to) => {
      write()
      route(to)
    },
  }
}

function addressWith(change: Change): string {
  const query = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(change)) {
    if (value === null) query.delete(name)
    else query.set(name, value)
  }
  return `${location.pathname}${query.size === 0 ? '' : `?${query}`}`
}
