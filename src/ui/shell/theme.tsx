/** Dark or light: as the system says, or as was chosen here. */
import { effect, signal } from '@preact/signals'
import { remember, remembered } from '../components/browser-storage.ts'
import { Button } from '../components/button.tsx'

type Theme = 'system' | 'light' | 'dark'

const KEY = 'eider.theme'
const NEXT = { system: 'light', light: 'dark', dark: 'system' } as const
const WORDS = { system: 'as the system', light: 'light', dark: 'dark' }

const theme = signal<Theme>(themeOf(remembered(KEY)))

effect(() => {
  document.documentElement.dataset.theme = theme.value
})
// Windows beside this one change with it.
window.addEventListener('storage', ({ key, newValue }) => {
  if (key === KEY) theme.value = themeOf(newValue)
})

function themeOf(stored: string | null): Theme {
  return stored === 'light' || stored === 'dark' ? stored : 'system'
}

function changeTheme(): void {
  theme.value = NEXT[theme.value]
  remember(KEY, theme.value)
}

export function ThemeButton() {
  const now = theme.value
  return (
    <Button
      look="quiet icon-only"
      icon={now === 'dark' ? 'moon' : now === 'light' ? 'sun' : 'contrast'}
      aria-label={`Colours: ${WORDS[now]}. Change to ${WORDS[NEXT[now]]}`}
      title={`Colours: ${WORDS[now]}`}
      onClick={changeTheme}
    />
  )
}
