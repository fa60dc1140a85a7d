// Package manifests reads the Kubernetes manifests as the API would: with its own types, and no
// field that these do not have. It is a module of its own, so that nobody else needs them.
package manifests

import (
	"errors"
	"io"
	"os"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/yaml"
	strict "sigs.k8s.io/yaml"
)

func TestManifests(t *testing.T) {
	f, err := os.Open("../../examples/server/packaging/kubernetes.yaml")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kinds := map[metav1.TypeMeta]any{
		{Kind: "Namespace", APIVersion: "v1"}:        new(corev1.Namespace),
		{Kind: "ConfigMap", APIVersion: "v1"}:        new(corev1.ConfigMap),
		{Kind: "Secret", APIVersion: "v1"}:           new(corev1.Secret),
		{Kind: "Service", APIVersion: "v1"}:          new(corev1.Service),
		{Kind: "StatefulSet", APIVersion: "apps/v1"}: new(appsv1.StatefulSet),
	}
	for d := yaml.NewDocumentDecoder(f); ; {
		body := make([]byte, 1<<20)
		n, err := d.Read(body)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := strict.Unmarshal(body[:n], &kind); err != nil {
			t.Fatal(err)
		}
		into, ok := kinds[kind]
		if !ok {
			t.Fatalf("there is another object: %v", kind)
		}
		if err := strict.UnmarshalStrict(body[:n], into); err != nil {
			t.Errorf("%s: %v", kind.Kind, err)
		}
		delete(kinds, kind)
	}
	for kind := range kinds {
		t.Errorf("there is no %v", kind)
	}
}
