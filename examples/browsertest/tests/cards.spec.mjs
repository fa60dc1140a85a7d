// The board that the service keeps itself: in light and dark, on a phone, without JavaScript,
// by dragging, and over a server that is killed (kill -9) while somebody types.
import { fits, noDialogs } from '../dash.mjs'
import { audit, expect, look, site, test, watch, Problems } from '../fixture.mjs'

/** @typedef {import('@playwright/test').Page} Page */

/** @param {Page} page @param {string} name */
async function called(page, name) {
  await page.goto(site('cards') + 'board')
  await page.fill('#me', name)
  await page.getByRole('button', { name: 'That is me' }).click()
  await expect(page.locator('.whoami')).toContainText(`You are ${name}`)
}

/** Makes a card by its form, and stays on its page. @param {Page} page @param {string} title */
async function make(page, title) {
  await page.goto(site('cards') + 'board/new?project=app')
  await page.getByLabel('Title').fill(title)
  await page.getByLabel('Description').fill('wanted')
  await page.getByRole('button', { name: 'Make the card' }).click()
  await expect(page.locator('h1')).toHaveText(title)
}

/** @param {Page} page @param {string} title */
const cardOf = (page, title) => page.locator('article.card', { hasText: title })

/** @param {'kill' | 'start'} what */
async function server(what) {
  expect((await fetch(`${site('cards-control')}/${what}`, { method: 'POST' })).status).toBe(200)
}

test('the pages: light, dark and narrow', async ({ page, problems }) => {
  noDialogs(page, problems)
  await called(page, 'Kim')
  await page.getByRole('link', { name: /stranger's card/ }).click()
  await expect(page.locator('main')).toContainText('<script>alert(1)</script>')
  const card = new URL(page.url()).pathname.replace('/tools/', '')
  for (const [name, path] of [['board', 'board'], ['card', card], ['edit', card + '/edit'], ['new', 'board/new?project=app'], ['column', 'board?project=app&column=backlog'], ['archived', 'board?archived=1']]) {
    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto(site('cards') + path)
    await expect(page.locator('h1')).toHaveCount(1)
    await expect(page.locator('main script, main img')).toHaveCount(0)
    await look(page, `cards-${name}`)
    await fits(page)
    await page.setViewportSize({ width: 360, height: 740 })
    await page.goto(site('cards') + path)
    await fits(page)
    await audit(page)
    const small = await page.locator('main').locator('button, select, input:not([type=hidden]):not([type=checkbox]), summary, .button, .jump a, .card h3 a').evaluateAll(all => all
      .filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 40).map(e => `${e.outerHTML.slice(0, 80)} ${e.getBoundingClientRect().height}`))
    if (name !== 'archived') expect(small, `what is touched on ${name}`).toEqual([])
    await page.screenshot({ path: `screens/cards-${name}-narrow.png` })
  }
})

test('on a phone the chooser leads to a column', async ({ page }) => {
  await page.setViewportSize({ width: 360, height: 740 })
  await called(page, 'Kim')
  await expect(page.locator('#col-approved')).toBeHidden()
  await page.locator('.jump').getByRole('link', { name: /^Approved/ }).click()
  await expect(page.locator('#col-approved')).toBeInViewport()
  await page.locator('.jump').getByRole('link', { name: /^Done/ }).click()
  await expect(cardOf(page, 'Rotate the signing keys')).toBeInViewport()
  await fits(page)
})

test('a card is dragged, and stays where it was put', { tag: '@quick' }, async ({ page }) => {
  await page.setViewportSize({ width: 1600, height: 900 })
  await called(page, 'Kim')
  await make(page, 'Dragged')
  await page.goto(site('cards') + 'board')
  const sent = page.waitForResponse(r => r.url().endsWith('/move'))
  await cardOf(page, 'Dragged').dragTo(page.locator('#col-rejected'))
  await sent
  await expect(page.locator('#col-rejected').getByText('Dragged')).toBeVisible()
  await page.reload()
  await expect(page.locator('#col-rejected').getByText('Dragged')).toBeVisible()
  await page.getByRole('link', { name: 'Dragged' }).click()
  await expect(page.locator('.cardlog li').first()).toContainText('Kim (not proved) moved it from Backlog to Rejected')
})

test('a card is dragged while the server is away: it is sent until the server is back', async ({ page, problems }) => {
  problems.allow(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_NETWORK|ERR_EMPTY|Failed to load/)
  await page.setViewportSize({ width: 1600, height: 900 })
  await called(page, 'Kim')
  await make(page, 'Held up')
  await page.goto(site('cards') + 'board')
  await server('kill')
  await cardOf(page, 'Held up').dragTo(page.locator('#col-rejected'))
  await expect(page.locator('.toast')).toContainText('sent again until it does')
  await server('start')
  await expect(page.locator('.toast')).toBeHidden()
  await page.reload()
  await expect(page.locator('#col-rejected').getByText('Held up')).toBeVisible()
})

test('the work goes on by cards alone, and other pages see it', async ({ page, context, problems }) => {
  await page.setViewportSize({ width: 1600, height: 900 })
  await called(page, 'Kim')
  const other = await context.newPage()
  await watch(other, problems)
  await other.setViewportSize({ width: 1600, height: 900 })
  await other.goto(site('cards') + 'board')
  await make(page, 'All the way')
  await page.selectOption('#column', 'to_analyse')
  await page.locator('#move button').click()
  await expect(page.locator('.now')).toContainText("a human's verdict", { timeout: 60_000 })
  await expect(other.locator('#col-in_review').getByText('All the way')).toBeVisible()
  await page.getByLabel('Your comment').fill('Fine with me.')
  await page.getByRole('button', { name: 'Comment and set Approved' }).click()
  await expect(other.locator('#col-done').getByText('All the way')).toBeVisible({ timeout: 60_000 })
  await page.getByRole('link', { name: /^The task/ }).click()
  await expect(page.locator('main')).toContainText('Kim (board, not proved)')
})

test('typed words stay when a live update moves what is above them', async ({ page, context, problems }) => {
  await called(page, 'Kim')
  await make(page, 'Typed')
  await page.getByLabel('Your comment').fill('Half a sentence, while')
  const other = await context.newPage()
  await watch(other, problems)
  await other.goto(page.url())
  await page.waitForFunction(() => performance.now() > 10_000) // then what came of the making is shown no more
  await other.selectOption('#column', 'to_analyse')
  await other.locator('#move button').click()
  await expect(page.locator('.now')).toContainText("a human's verdict", { timeout: 60_000 })
  await expect(page.getByLabel('Your comment')).toHaveValue('Half a sentence, while')
})

test('what is typed is kept over a killed server, and is there once', async ({ page, problems }) => {
  problems.allow(/ERR_CONNECTION|ERR_INCOMPLETE|ERR_NETWORK|ERR_EMPTY|Failed to load/)
  await called(page, 'Kim')
  await make(page, 'Draft')
  const words = 'Many words\nthat nobody wants to type again'
  await page.getByLabel('Your comment').fill(words)
  await server('kill')
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await expect(page.locator('.toast')).toContainText('nothing is lost')
  await expect(page.getByLabel('Your comment')).toHaveValue(words)
  await page.screenshot({ path: 'screens/cards-unanswered.png' })
  await server('start')
  await expect(page.locator('.talk .text')).toHaveText([words])
  await expect(page.getByLabel('Your comment')).toHaveValue('')
  // typed and not sent, when server and page go away
  await page.getByLabel('Your comment').fill('half a sente')
  await server('kill')
  await server('start')
  await page.reload()
  await expect(page.getByLabel('Your comment')).toHaveValue('half a sente')
  await expect(page.locator('.draftnote')).toBeVisible()
  await page.getByRole('button', { name: 'Discard it' }).click()
  await expect(page.getByLabel('Your comment')).toHaveValue('')
  await page.reload()
  await expect(page.getByLabel('Your comment')).toHaveValue('')
  await expect(page.locator('.talk li')).toHaveCount(1)
})

test('two people edit a card: the second is told, and loses nothing', async ({ page, context, problems }) => {
  problems.allow(/409/)
  await called(page, 'Kim')
  await make(page, 'Edited by two')
  const card = page.url().split('?')[0]
  await page.goto(card + '/edit')
  const other = await context.newPage()
  await watch(other, problems)
  await other.goto(card + '/edit')
  await other.getByLabel('Description').fill('by the other')
  await other.getByRole('button', { name: 'Save' }).click()
  await expect(other.locator('.text').first()).toHaveText('by the other')
  await page.getByLabel('Description').fill('by me')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByRole('alert')).toContainText('Somebody else has changed the card')
  await expect(page.getByLabel('Description')).toHaveValue('by me')
  await expect(page.locator('.theirs')).toContainText('by the other')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.locator('.text').first()).toHaveText('by me')
  await page.locator('.cardlog summary').first().click()
  await expect(page.locator('.cardlog')).toContainText('by the other')
})

test('everything works without JavaScript', async ({ browser }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  const problems = new Problems()
  page.on('console', m => void (m.type() === 'error' && problems.seen.push(m.text())))
  await page.goto(site('cards') + 'board/new?project=app')
  await page.getByLabel('Title').fill('By forms')
  await page.getByLabel('Description').fill('one\n  two')
  await page.getByLabel('Your name').fill('Lee')
  await page.getByRole('button', { name: 'Make the card' }).click()
  await expect(page.locator('h1')).toHaveText('By forms')
  await expect(page.locator('.main .text').first()).toHaveText('one\n  two')
  await page.getByLabel('Your comment').fill('said <b>plainly</b>')
  await page.getByRole('button', { name: 'Comment', exact: true }).click()
  await expect(page.locator('.talk')).toContainText('said <b>plainly</b>')
  await page.getByLabel('Key of the card that this one waits for').fill('app-1')
  await page.getByRole('button', { name: 'Add' }).click()
  await expect(page.locator('.rels')).toContainText('APP-1')
  await page.getByRole('button', { name: /^Remove/ }).click()
  await expect(page.locator('.relations')).toContainText('No other card.')
  await page.getByRole('link', { name: 'Edit' }).click()
  await page.getByLabel('Title').fill('By forms alone')
  await page.getByRole('button', { name: 'Save' }).click()
  await expect(page.locator('h1')).toHaveText('By forms alone')
  await page.goto(site('cards') + 'board')
  const card = cardOf(page, 'By forms alone')
  await card.locator('summary').click()
  await card.locator('select').selectOption('done')
  await card.getByRole('button', { name: 'Move' }).click()
  await expect(page.locator('#col-done')).toContainText('By forms alone')
  await expect(page.getByRole('status')).toContainText('The card is moved.')
  await page.getByRole('link', { name: 'By forms alone' }).click()
  await page.getByRole('button', { name: 'Archive' }).click()
  await page.getByRole('button', { name: 'Put back' }).click()
  await page.getByRole('button', { name: 'Archive' }).click()
  await page.locator('#delete summary').click()
  await page.getByRole('button', { name: 'Delete for good' }).click()
  await expect(page.getByRole('status')).toContainText('The card is deleted.')
  await expect(cardOf(page, 'By forms alone')).toHaveCount(0)
  expect(problems.seen).toEqual([])
  await context.close()
})

test('the keyboard moves a card', async ({ page }) => {
  await called(page, 'Kim')
  await make(page, 'By keys')
  await page.goto(site('cards') + 'board')
  const card = cardOf(page, 'By keys')
  await card.locator('summary').focus()
  await page.keyboard.press('Enter')
  await card.locator('select').focus()
  await page.keyboard.type('Rej')
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await expect(page.locator('#col-rejected')).toContainText('By keys')
})
