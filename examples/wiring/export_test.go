package wiring

import "context"

// FeatureNames are the features that the engine of a service is built of.
func (v *Service) FeatureNames() (names []string, err error) {
	list, err := v.features()
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names, err
}

// Refresh looks for changes of tracks once.
func (l *Layer) Refresh(ctx context.Context) error { return l.refresh(ctx) }
