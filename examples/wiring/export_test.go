package wiring

// FeatureNames are the features that the engine of a service is built of.
func (v *Service) FeatureNames() (names []string, err error) {
	list, err := v.features()
	for _, f := range list {
		names = append(names, f.Name)
	}
	return names, err
}
