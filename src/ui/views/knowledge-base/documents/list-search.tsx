/** What the list shows, and the words it is searched by. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Button } from '../../../components/button.tsx'
import { useShortcuts } from '../../../shell/keyboard.tsx'
import type { ListAddress } from './list-address.ts'

interface ListSearchProps {
  readonly shown: ListAddress
  readonly onShow: (change: Partial<ListAddress>) => void
}

export function ListSearch({ shown, onShow }: ListSearchProps) {
  const [words, setWords] = useState(shown.words)
  useLayoutEffect(() => setWords(shown.words), [shown.words])
  const box = useRef<HTMLInputElement>(null)
  useShortcuts([{ keys: '/', does: 'Find words in the list', run: () => box.current?.select() }])
  return (
    <form
      class="row"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        onShow({ words: words.trim() })
      }}
    >
      <fieldset class="kb-switch" aria-label="What is listed">
        {(['documents', 'chunks'] as const).map((one) => (
          <Button
            label={one === 'documents' ? 'Documents' : 'Chunks'}
            key={one}
            aria-pressed={shown.shows === one}
            onClick={() => onShow({ shows: one })}
          />
        ))}
      </fieldset>
      <input
        ref={box}
        class="grow"
        type="search"
        aria-label="Words to find in this list"
        placeholder="Find words"
        value={words}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <select
        class="kb-within"
        aria-label="Where to find them"
        value={shown.within}
        onChange={(event) =>
          onShow({
            words: words.trim(),
            within: event.currentTarget.value === 'name' ? 'name' : 'text',
          })
        }
      >
        <option value="text">in texts</option>
        <option value="name">in titles and ids</option>
      </select>
      <Button type="submit" icon="search" label="Find" />
    </form>
  )
}
