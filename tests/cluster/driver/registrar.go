package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/grpc"
	registration "k8s.io/kubelet/pkg/apis/pluginregistration/v1"
)

// A registrar registers a driver that serves elsewhere, with services of the versions that it is
// told: so a kubelet meets a driver of today as one of an older release, or as one that dropped an
// old version.
type registrar struct {
	registration.UnimplementedRegistrationServer
	info *registration.PluginInfo
}

func (r registrar) GetInfo(context.Context, *registration.InfoRequest) (
	*registration.PluginInfo, error) {
	return r.info, nil
}

func (r registrar) NotifyRegistrationStatus(_ context.Context,
	status *registration.RegistrationStatus) (*registration.RegistrationStatusResponse, error) {
	if !status.PluginRegistered {
		fmt.Println("the kubelet refuses", r.info.Name+":", status.Error)
	} else {
		fmt.Println("the kubelet registered", r.info.Name)
	}
	return &registration.RegistrationStatusResponse{}, nil
}

// register serves registration for "DRIVER=ENDPOINT" until it is asked to end.
func register(ctx context.Context, o options) error {
	name, endpoint, found := strings.Cut(o.register, "=")
	if !found || o.versions == "" {
		return errors.New("--register DRIVER=SOCKET needs --versions, as v1beta1.DRAPlugin")
	}
	path := filepath.Join(o.root, "plugins_registry", name+"-registrar-reg.sock")
	listener, err := listenAnew(path)
	if err != nil {
		return err
	}
	server := grpc.NewServer()
	registration.RegisterRegistrationServer(server, registrar{info: &registration.PluginInfo{
		Type: registration.DRAPlugin, Name: name, Endpoint: endpoint,
		SupportedVersions: strings.Split(o.versions, ",")}})
	context.AfterFunc(ctx, server.Stop)
	return server.Serve(listener)
}

// listenAnew listens at a path where a program that was killed may have left its socket.
func listenAnew(path string) (net.Listener, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return net.Listen("unix", path)
}
