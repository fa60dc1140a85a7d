package simulate

import "slices"

// shrinkMax bounds the worlds that Shrink tries.
const shrinkMax = 600

// shrinker looks for a smaller world that breaks the same invariant.
type shrinker struct {
	best  Result
	tries int
}

// Shrink makes a failing world smaller while it still breaks the same invariant:
// fewer cards, features, replicas, acts, spells, upsets and fates, and no chance in
// the order of steps. A result that did not fail is returned as it is.
func Shrink(r Result) Result {
	if r.Failure == nil {
		return r
	}
	k := &shrinker{best: r}
	told := r.World
	told.Drawn, told.Fates = false, r.Fates
	if !k.try(told) { // the same fates, written down: this cannot differ
		return r
	}
	for before := -1; before != k.best.World.size() && k.tries < shrinkMax; {
		before = k.best.World.size()
		k.halve()
		k.parts()
		k.simplify()
	}
	return k.best
}

// try runs a world, and keeps it when it breaks the same invariant.
func (k *shrinker) try(w World) bool {
	if k.tries++; k.tries > shrinkMax {
		return false
	}
	r := Run(w)
	if r.Failure == nil || r.Failure.Invariant != k.best.Failure.Invariant {
		return false
	}
	r.Fates = w.Fates
	k.best = r
	return true
}

// size is how much there is to read of a world.
func (w World) size() int {
	n := len(w.Fates) + len(w.Features) + len(w.Spells) + len(w.Upsets) + w.Replicas
	for _, c := range w.Cards {
		if !c.Out {
			n += 3 + len(c.Acts) + c.Rejects
		}
	}
	return n
}

// halve leaves out fates, half of them at first, then a quarter, and so on.
func (k *shrinker) halve() {
	for n := (len(k.best.World.Fates) + 1) / 2; n > 0; n /= 2 {
		for i := 0; i < len(k.best.World.Fates); {
			w := k.best.World
			w.Fates = slices.Delete(slices.Clone(w.Fates), i, min(i+n, len(w.Fates)))
			if !k.try(w) {
				i += n
			}
		}
		if len(k.best.World.Fates) == 0 {
			return
		}
	}
}

// parts leaves out one thing after the other.
func (k *shrinker) parts() {
	without(k, func(w *World) *[]Spell { return &w.Spells })
	without(k, func(w *World) *[]Upset { return &w.Upsets })
	without(k, func(w *World) *[]string { return &w.Features })
	for i := range k.best.World.Cards {
		k.change(func(w *World) { w.Cards[i].Out = true })
		without(k, func(w *World) *[]Act { return &w.Cards[i].Acts })
		k.change(func(w *World) { w.Cards[i].Rejects = 0 })
		k.change(func(w *World) { w.Cards[i].BlockedBy = -1 })
	}
}

// without leaves out the elements of a list of the world, one after the other.
func without[T any](k *shrinker, list func(*World) *[]T) {
	w := k.best.World
	for i := len(*list(&w)) - 1; i >= 0; i-- {
		k.change(func(w *World) {
			l := list(w)
			*l = slices.Delete(slices.Clone(*l), i, i+1)
		})
	}
}

// simplify takes chance and variety out.
func (k *shrinker) simplify() {
	if n := k.best.World.Replicas; n > 1 {
		k.change(func(w *World) {
			w.Replicas--
			w.Upsets = slices.DeleteFunc(slices.Clone(w.Upsets), func(u Upset) bool { return u.Replica >= w.Replicas })
		})
	}
	k.change(func(w *World) { w.InOrder = true })
	k.change(func(w *World) { w.Rates.Agent = 0 })
	k.change(func(w *World) { w.Nameless = 0 })
	k.change(func(w *World) { w.Budget = 0 })
	for i := range k.best.World.Projects {
		k.change(func(w *World) { w.Projects[i].CIRed = 0 })
		k.change(func(w *World) { w.Projects[i].Columns = nil })
		k.change(func(w *World) { w.Projects[i].SelfHosting = false })
	}
}

// change tries a world that differs in something.
func (k *shrinker) change(f func(*World)) {
	w := k.best.World
	w.Cards, w.Projects = slices.Clone(w.Cards), slices.Clone(w.Projects)
	f(&w)
	k.try(w)
}
